package native_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var usual = flag.String("usual", "", "the only module that TestUsualModules fetches")

// TestUsualModules fetches modules that cells often import, and uses each in one
// cell:
//
//	go test ./kernel/internal/toolchain/native -run UsualModules -timeout 2h -fetch
func TestUsualModules(t *testing.T) {
	if !*fetch {
		t.Skip("it fetches modules: -fetch runs it")
	}
	l := ready(t)
	for _, c := range []struct{ module, cell, want string }{
		{"github.com/google/uuid", `import "github.com/google/uuid"
uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8").Version().String()`, "VERSION_1"},
		{"github.com/stretchr/testify", `import "github.com/stretchr/testify/assert"
assert.ObjectsAreEqual([]int{1}, []int{1})`, "true"},
		{"github.com/go-gota/gota@v0.12.0", `import ("github.com/go-gota/gota/dataframe"; "github.com/go-gota/gota/series")
dataframe.New(series.New([]int{1, 2}, series.Int, "a")).Nrow()`, "2"},
		{"github.com/montanaflynn/stats", `import "github.com/montanaflynn/stats"
must(stats.Median([]float64{1, 5, 2}))`, "2"},
		{"github.com/spf13/cobra", `import "github.com/spf13/cobra"
(&cobra.Command{Use: "run [file]"}).Name()`, `"run"`},
		{"github.com/rs/zerolog", `import "github.com/rs/zerolog"
log := zerolog.New(os.Stdout); log.Info().Int("n", 3).Msg("done")`, `{"level":"info","n":3,"message":"done"}`},
		{"go.uber.org/zap", `import "go.uber.org/zap"
zap.NewNop().Name() == ""`, "true"},
		{"gopkg.in/yaml.v3", `import "gopkg.in/yaml.v3"
string(must(yaml.Marshal(map[string]int{"a": 1})))`, "a: 1"},
		{"github.com/BurntSushi/toml", `import "github.com/BurntSushi/toml"
var c struct{ Seed int }
must(toml.Decode("seed = 7", &c))
c.Seed`, "7"},
		{"github.com/schollz/progressbar/v3", `import "github.com/schollz/progressbar/v3"
bar := progressbar.NewOptions(3, progressbar.OptionSetWriter(io.Discard))
must(bar.Add(2))
bar.State().CurrentNum`, "2"},
		{"github.com/charmbracelet/lipgloss", `import "github.com/charmbracelet/lipgloss"
lipgloss.NewStyle().Width(5).Render("ab") == "ab   "`, "true"},
		{"github.com/samber/lo", `import "github.com/samber/lo"
lo.Uniq([]int{1, 2, 1})`, "1, 2"},
		{"github.com/shopspring/decimal", `import "github.com/shopspring/decimal"
decimal.RequireFromString("0.1").Add(decimal.RequireFromString("0.2")).String()`, `"0.3"`},
		{"github.com/tidwall/gjson", `import "github.com/tidwall/gjson"
gjson.Get("{\"a\": [1, 2]}", "a.1").Int()`, "2"},
		{"github.com/gocarina/gocsv", `import "github.com/gocarina/gocsv"
type row struct { A int ` + "`csv:\"a\"`" + ` }
must(gocsv.MarshalString([]row{{3}}))`, "a"},
		{"github.com/wcharczuk/go-chart/v2", `import "github.com/wcharczuk/go-chart/v2"
chart.ColorBlue.String()`, "rgba"},
		{"github.com/fatih/color", `import "github.com/fatih/color"
color.New(color.FgRed).Sprint("x")`, "x"},
		{"modernc.org/sqlite", `%%compile
import _ "modernc.org/sqlite"
import "database/sql"
db := must(sql.Open("sqlite", ":memory:"))
var answer int
must(db.QueryRow("SELECT 40 + 2").Scan(&answer))
answer`, "42"},
		{"github.com/duckdb/duckdb-go/v2@v2.10506.0", `%%compile
import _ "github.com/duckdb/duckdb-go/v2"
import "database/sql"
db := must(sql.Open("duckdb", ""))
var answer int
must(db.QueryRow("SELECT 40 + 2").Scan(&answer))
answer`, "42"},
		{"github.com/parquet-go/parquet-go", `%%compile
import ("bytes"; "github.com/parquet-go/parquet-go")
type Run struct { Seed int; Value float64 }
func roundTrip(runs []Run) ([]Run, error) {
	var b bytes.Buffer
	if err := parquet.Write(&b, runs); err != nil { return nil, err }
	return parquet.Read[Run](bytes.NewReader(b.Bytes()), int64(b.Len()))
}
must(roundTrip([]Run{{1, 0.5}, {2, 0.25}}))[1].Value`, "0.25"},
		{"github.com/apache/arrow-go/v18", `%%compile
import ("bytes"; "github.com/apache/arrow-go/v18/arrow"; "github.com/apache/arrow-go/v18/arrow/array"; "github.com/apache/arrow-go/v18/arrow/ipc"; "github.com/apache/arrow-go/v18/arrow/memory")
func roundTrip(values []float64) (float64, error) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float64}}, nil)
	r := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	r.Field(0).(*array.Float64Builder).AppendValues(values, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := w.Write(r.NewRecord()); err != nil { return 0, err }
	if err := w.Close(); err != nil { return 0, err }
	in, err := ipc.NewReader(&b)
	if err != nil { return 0, err }
	in.Next()
	return in.Record().Column(0).(*array.Float64).Value(1), nil
}
must(roundTrip([]float64{0.5, 0.25}))`, "0.25"},
	} {
		if *usual != "" && *usual != c.module {
			continue
		}
		t.Run(c.module, func(t *testing.T) {
			if strings.HasPrefix(c.cell, "%%compile") && *usual == "" {
				// Plugins of one process must agree on what they import.
				out, err := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestUsualModules$", "-fetch", "-usual", c.module).CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			s := session(t, l)
			fetched := run(t.Context(), s, 1, "%get "+c.module)
			got := run(t.Context(), s, 2, c.cell)
			// Standard output is the test's again. What it says with -v while the
			// session holds it is lost.
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(fetched, "Error") || strings.HasPrefix(fetched, "%get") {
				t.Fatalf("%%get says %s", fetched)
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "Error") {
				t.Errorf("the cell shows %s, want %s", got, c.want)
			}
		})
	}
}
