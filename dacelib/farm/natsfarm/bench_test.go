package natsfarm_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/solver"
)

// processor returns the processor seconds of a process so far.
func processor(t testing.TB, pid int) float64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return float64(user+system) / 100
}

func self() float64 { return process.Time().Seconds() }

// resident returns the resident memory of a process in MB.
func resident(pid int) float64 {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for _, l := range strings.Split(string(b), "\n") {
		if f := strings.Fields(l); len(f) > 1 && f[0] == "VmRSS:" {
			kb, _ := strconv.Atoi(f[1])
			return float64(kb) / 1024
		}
	}
	return 0
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkRoundTrip measures one empty unit, there and back.
func BenchmarkRoundTrip(b *testing.B) {
	dir := b.TempDir()
	join, err := natsfarm.Start(dir, "", serveCommand())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { killServer(dir) })
	w, _ := startProcess(b, "worker", join, "1")
	p := pool(b, join)
	ctx := context.Background()
	n := 0
	var times []float64
	one := func() {
		n++
		u := farmtest.Unit(b, "double", farm.Floats{float64(n)})
		begun := time.Now()
		var out farm.Floats
		if err := farm.Do1(ctx, p, u, &out); err != nil {
			b.Fatal(err)
		}
		times = append(times, float64(time.Since(begun).Microseconds()))
	}
	for range 50 {
		one()
	}
	times = nil
	server := serverProcess(dir)
	here, there, serving := self(), processor(b, w.Process.Pid), processor(b, server)
	for b.Loop() {
		one()
	}
	here, there, serving = self()-here, processor(b, w.Process.Pid)-there, processor(b, server)-serving
	b.ReportMetric(median(times), "us/median")
	b.ReportMetric(1e6*here/float64(b.N), "cpu-us/caller")
	b.ReportMetric(1e6*there/float64(b.N), "cpu-us/worker")
	b.ReportMetric(1e6*serving/float64(b.N), "cpu-us/server")
	// The same machine at the same time: a bare request, answered by a process
	// without a stream in between.
	addr, token := address(b, join)
	nc, err := nats.Connect(addr, nats.UserInfo("caller", token))
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	times = nil
	for range 500 {
		begun := time.Now()
		if _, err := nc.Request("$JS.API.INFO", nil, time.Minute); err != nil {
			b.Fatal(err)
		}
		times = append(times, float64(time.Since(begun).Microseconds()))
	}
	b.ReportMetric(median(times), "us/request")
	b.ReportMetric(median(bareUnits(b, addr, token, 500)), "us/bare-unit")
}

// bareUnits measures the way through the queue without this package, which units
// take that find no idle worker: a task is stored, delivered, acknowledged and
// announced, its result is stored and delivered. Caller and worker are connections
// of this process. It returns microseconds.
func bareUnits(b *testing.B, addr, token string, n int) (times []float64) {
	connect := func() *nats.Conn {
		nc, err := nats.Connect(addr, nats.UserInfo("caller", token))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		return nc
	}
	caller, worker := connect(), connect()
	config := `{"stream_name":"TASKS","config":{"durable_name":"bare","filter_subject":"t.bare.>","ack_policy":"explicit","max_ack_pending":-1}}`
	if _, err := caller.Request("$JS.API.CONSUMER.DURABLE.CREATE.TASKS.bare", []byte(config), time.Minute); err != nil {
		b.Fatal(err)
	}
	results := make(chan *nats.Msg, 1)
	if _, err := caller.ChanSubscribe("r.*", results); err != nil {
		b.Fatal(err)
	}
	ask := func() {
		_ = worker.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.TASKS.bare", "bare", []byte(`{"batch":1,"expires":60000000000}`))
	}
	if _, err := worker.Subscribe("bare", func(m *nats.Msg) {
		_ = m.Respond([]byte("+ACK"))
		_ = worker.Publish("c.bare", make([]byte, 100))
		key := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		go func() { _, _ = worker.Request("r.bare"+key, make([]byte, 150), time.Minute) }()
		ask()
	}); err != nil {
		b.Fatal(err)
	}
	ask()
	for i := range n + 50 {
		begun := time.Now()
		if _, err := caller.Request("t.bare.bare."+strconv.Itoa(i), make([]byte, 200), time.Minute); err != nil {
			b.Fatal(err)
		}
		<-results
		times = append(times, float64(time.Since(begun).Microseconds()))
	}
	return times[50:]
}

// BenchmarkIdle measures the processor time of a worker and of the server
// without work.
func BenchmarkIdle(b *testing.B) {
	dir := b.TempDir()
	join, err := natsfarm.Start(dir, "", serveCommand())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { killServer(dir) })
	w, _ := startProcess(b, "worker", join, "1")
	pool(b, join)
	for range b.N {
		time.Sleep(3 * time.Second)
		server := serverProcess(dir)
		begun, worker, serving := time.Now(), processor(b, w.Process.Pid), processor(b, server)
		time.Sleep(30 * time.Second)
		wall := time.Since(begun).Seconds()
		b.ReportMetric(100*(processor(b, w.Process.Pid)-worker)/wall, "%core/worker")
		b.ReportMetric(100*(processor(b, server)-serving)/wall, "%core/server")
		b.ReportMetric(resident(server), "MB/server")
		b.ReportMetric(resident(w.Process.Pid), "MB/worker")
	}
}

// BenchmarkRestart measures the time from the server's kill -9 to the next
// result.
func BenchmarkRestart(b *testing.B) {
	join := start(b, "", 1)
	p := pool(b, join)
	ctx := context.Background()
	var times []float64
	for i := range b.N {
		if err := farmtest.Doubles(ctx, b, p, 100*i, 5); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		killServer(filepath.Dir(join))
		if err := farmtest.Doubles(ctx, b, p, 100*i+10, 1); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begun).Seconds())
	}
	b.ReportMetric(median(times), "s/median")
	b.ReportMetric(times[len(times)-1], "s/max")
}

// BenchmarkWorkerStart measures the time from a worker's start to its first
// result.
func BenchmarkWorkerStart(b *testing.B) {
	join := start(b, "", 0)
	p := pool(b, join)
	var times []float64
	for i := range b.N {
		got := make(chan time.Time, 1)
		u := farmtest.Unit(b, "double", farm.Floats{float64(i)})
		go func() {
			_ = p.Do(context.Background(), []farm.Unit{u}, func(int, []byte) error { got <- time.Now(); return nil })
		}()
		time.Sleep(50 * time.Millisecond)
		begun := time.Now()
		w, _ := startProcess(b, "worker", join, "1")
		times = append(times, (<-got).Sub(begun).Seconds())
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	b.ReportMetric(median(times), "s/median")
}

// BenchmarkShare measures which share of the processor time of all processes is
// work: the time that the same units take in this process, divided by that of
// the caller, the server and two workers. A run takes about 15 us with 40
// evaluations and 600 us with 800. in-units is the processor time that workers
// have counted within units, divided by the same: what other programs do to the
// caches meanwhile changes it less than it changes share.
func BenchmarkShare(b *testing.B) {
	m, err := nir.Random(30, 5, nir.Settings{NormaliseSample: 1_000_000})
	if err != nil {
		b.Fatal(err)
	}
	for name, work := range map[string]func(p farm.Pool, round int){
		"ranges": func(p farm.Pool, round int) {
			embeddings := m.Embeddings()
			for k := range 40 {
				e := slices.Clone(embeddings[k%5])
				e[0] += float64(40*round+k) / 1000
				embeddings = append(embeddings, e)
			}
			m.Farm = p
			if _, err := m.Normalise(context.Background(), embeddings); err != nil {
				b.Fatal(err)
			}
		},
		"runs of 40":  func(p farm.Pool, round int) { runs(b, p, 40, round) },
		"runs of 800": func(p farm.Pool, round int) { runs(b, p, 800, round) },
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			join, err := natsfarm.Start(dir, "", serveCommand())
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { killServer(dir) })
			var pids []int
			for range 2 {
				w, _ := startProcess(b, "worker", join, "1")
				pids = append(pids, w.Process.Pid)
			}
			p, here := pool(b, join), farm.Local(2)
			work(p, 0) // the rates are known then
			work(here, 0)
			pids = append(pids, serverProcess(dir))
			all := func() float64 {
				sum := self()
				for _, pid := range pids {
					sum += processor(b, pid)
				}
				return sum
			}
			local, far, units := 0.0, 0.0, p.Counts()
			for i := range b.N {
				begun := self()
				work(here, i+1)
				local += self() - begun
				begun = all()
				work(p, i+1)
				far += all() - begun
			}
			after := p.Counts()
			b.ReportMetric(local/far, "share")
			b.ReportMetric((after.Seconds-units.Seconds)/far, "in-units")
			b.ReportMetric(far/float64(b.N), "cpu-s/op")
			b.ReportMetric(1000*local/float64(after.Done-units.Done), "cpu-ms/unit")
		})
	}
}

// runs makes runs on CCP instances for about 1.6 s, of 40 configurations under
// as many seeds as it takes, cut as construct cuts them.
func runs(b *testing.B, p farm.Pool, evaluations, round int) {
	b.Helper()
	set, err := ccp.Class().NewSet(1, 5, 0)
	if err != nil {
		b.Fatal(err)
	}
	pk := farm.NewPacker(context.Background(), p)
	key, err := pk.Problems(set.Training)
	if err != nil {
		b.Fatal(err)
	}
	type data struct {
		Problems    string          `json:"problems"`
		From        int             `json:"from"`
		To          int             `json:"to"`
		Configs     []solver.Config `json:"configs"`
		Seeds       [][]uint64      `json:"seeds"`
		Evaluations int             `json:"evaluations"`
	}
	configs := portfolio.Random(uint64(round+2), 40)
	n := 5_000_000 / evaluations / len(set.Training) / len(configs) // seeds
	seeds := make([]uint64, n)
	for k := range seeds {
		seeds[k] = uint64(k + 1)
	}
	piece := max(1, farm.Piece(p, "runs", n*len(configs)*len(set.Training))/n)
	var units []farm.Unit
	for i := range set.Training {
		for from := 0; from < len(configs); from += piece {
			some := configs[from:min(from+piece, len(configs))]
			u, err := farm.NewUnit("runs", data{key, i, i + 1, some, [][]uint64{seeds}, evaluations}, len(some)*n, pk.Needs())
			if err != nil {
				b.Fatal(err)
			}
			units = append(units, u)
		}
	}
	if err := p.Do(context.Background(), units, func(int, []byte) error { return nil }); err != nil {
		b.Fatal(err)
	}
}

// benchSlots are the slots of BenchmarkConnections, of a core each on workers of
// some cores.
var (
	benchSlots = flag.Int("slots", 1000, "`number` of slots of BenchmarkConnections")
	benchCores = flag.Int("cores", 1, "`number` of slots of a worker there")
)

// BenchmarkConnections has 1,000 slots compute units of two seconds of random
// length. They only wait, as a processor does not suffice. More: go test -run '^$'
// -bench Connections -benchtime 1x -args -slots 10000 -cores 50
func BenchmarkConnections(b *testing.B) {
	const each = 3
	workers := *benchSlots
	dir := b.TempDir()
	join, err := natsfarm.Start(dir, "", serveCommand())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { killServer(dir) })
	p := pool(b, join)
	for range 10 {
		startProcess(b, "workers", join, strconv.Itoa(workers/10 / *benchCores), strconv.Itoa(*benchCores))
	}
	for until := time.Now().Add(2 * time.Minute); p.Slots() < workers && time.Now().Before(until); {
		time.Sleep(100 * time.Millisecond)
	}
	b.Logf("%d slots", p.Slots())
	for range b.N {
		var units []farm.Unit
		for i := range workers * each {
			d := time.Duration(1000+(i*7919)%2000) * time.Millisecond
			units = append(units, farmtest.Unit(b, "sleep", farmtest.Sleep{Time: d, Number: i + int(time.Now().UnixNano()%1e9)}))
		}
		begun, server, here := time.Now(), processor(b, serverProcess(dir)), self()
		var ends []time.Duration
		var lengths []time.Duration
		err := p.Do(context.Background(), units, func(i int, _ []byte) error {
			var s farmtest.Sleep
			_ = json.Unmarshal(units[i].Data, &s)
			ends, lengths = append(ends, time.Since(begun)), append(lengths, s.Time)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		// Mid-run: from 2 s to 4 s after the begin.
		from, to := 2*time.Second, 4*time.Second
		busy := time.Duration(0)
		for i, end := range ends {
			busy += max(0, min(end, to)-max(end-lengths[i], from))
		}
		b.ReportMetric(busy.Seconds()/(float64(workers)*(to-from).Seconds()), "busy")
		n := float64(len(units))
		b.ReportMetric(1e6*(processor(b, serverProcess(dir))-server)/n, "us/unit-server")
		b.ReportMetric(1e6*(self()-here)/n, "us/unit-caller")
		b.ReportMetric(n/time.Since(begun).Seconds(), "units/s")
		b.ReportMetric(resident(serverProcess(dir)), "MB/server")
		b.ReportMetric(ends[len(ends)-1].Seconds(), "s/all")
	}
}
