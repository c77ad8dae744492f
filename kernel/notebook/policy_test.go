package notebook

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// vectors lists texts that try to make a browser run a script or load
// something, by the place in the notebook where they stand. JS stands for a
// script.
var vectors = map[string][]string{
	"html": {
		`<script>JS</script>`,
		`<script src="data:text/javascript,JS"></script>`,
		`<script type="module">JS</script>`,
		`<img src="x:" onerror="JS">`,
		`<img srcset="x:" onerror="JS">`,
		`<svg onload="JS"></svg>`,
		`<svg><script>JS</script></svg>`,
		`<svg><animate onbegin="JS" attributeName="x" dur="1s"></svg>`,
		`<svg><image href="x:" onerror="JS"></svg>`,
		`<body onload="JS">`,
		`<iframe srcdoc="<script>JS</script>"></iframe>`,
		`<iframe src="javascript:JS"></iframe>`,
		`<iframe src="data:text/html,<script>JS</script>"></iframe>`,
		`<object data="data:text/html,<script>JS</script>"></object>`,
		`<embed src="data:text/html,<script>JS</script>">`,
		`<details open ontoggle="JS"><summary>s</summary>t</details>`,
		`<video><source src="x:" onerror="JS"></video>`,
		`<audio src="x:" onerror="JS"></audio>`,
		`<input autofocus onfocus="JS">`,
		`<style>@keyframes k{}</style><b style="animation:k 1s" onanimationstart="JS">b</b>`,
		`<link rel="stylesheet" href="x:" onerror="JS">`,
		`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x: onerror='JS'&gt;">`,
	},
	"markdown": {
		`<img src="x:" onerror="JS">`,
		"text <script>JS</script> text",
		"<div>\n<script>JS</script>\n</div>",
	},
	"refresh": { // each leads the browser to another page, so each is tested on a page of its own
		`<meta http-equiv="refresh" content="0;url=URL">`,
		`<META/http-equiv="refresh" content="0;url=URL">`,
	},
}

// TestPolicy opens pages of a hostile notebook in a browser and checks that
// nothing in them runs. With Scripts most of it does run, which shows that the
// test can fail.
func TestPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
			t.Fatal(err)
		}
		t.Skip("there is no chromium")
	}
	var mu sync.Mutex // guards live
	live := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		live[r.URL.Path] = true
	}))
	defer server.Close()
	n := 0
	vector := func(text string) string {
		n++
		url := server.URL + "/" + strconv.Itoa(n)
		return strings.NewReplacer("JS", "new Image().src='"+url+"'", "URL", url).Replace(text)
	}
	var together, alone []*Cell
	for _, v := range vectors["html"] {
		together = append(together, &Cell{Type: Code, Outputs: []*Output{{Type: Display, Data: map[string]any{"text/html": vector(v)}}}})
	}
	for _, v := range vectors["markdown"] {
		together = append(together, &Cell{Type: Markdown, Source: vector(v)})
	}
	for _, v := range vectors["refresh"] {
		alone = append(alone, &Cell{Type: Raw, Source: vector(v), Metadata: map[string]any{"format": "text/html"}})
	}
	if n != 27 {
		t.Fatalf("%d vectors", n)
	}
	dir := t.TempDir()
	open := func(cells []*Cell, scripts bool) {
		t.Helper()
		page := filepath.Join(dir, fmt.Sprintf("%d.html", len(cells)))
		text := page1(t, &Notebook{Cells: cells}, HTMLSettings{Scripts: scripts})
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--user-data-dir="+filepath.Join(dir, "profile"), "--timeout=3000", "--virtual-time-budget=3000", "--dump-dom", "file://"+page)
		cmd.WaitDelay = time.Second
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "<main>") && !scripts {
			t.Fatalf("chromium: %v\n%s", err, out)
		}
	}
	count := func(scripts bool) []string {
		mu.Lock()
		clear(live)
		mu.Unlock()
		// The cells that leave elements open come last on their page,
		// so that they cannot hide the others.
		open(together, scripts)
		for _, c := range alone {
			open([]*Cell{c}, scripts)
		}
		mu.Lock()
		defer mu.Unlock()
		var list []string
		for path := range live {
			list = append(list, path)
		}
		slices.Sort(list)
		return list
	}
	if got := count(false); len(got) > 0 {
		t.Errorf("%d of %d vectors are live: %v", len(got), n, got)
	}
	if got := count(true); len(got) < 20 {
		t.Errorf("with Scripts %d of %d vectors are live, want at least 20: %v", len(got), n, got)
	} else {
		t.Logf("%d of %d with Scripts, 0 without", len(got), n)
	}
}

// Text that only resembles a meta element stays.
func TestMeta(t *testing.T) {
	got := body(t, &Cell{Type: Markdown, Source: "<svg><metadata>m</metadata></svg>\n<Meta\nname=x>\n\n`<meta>`"}, HTMLSettings{})
	for _, s := range []string{"<metadata>", "&lt;meta\nname=x>", "<code>&lt;meta&gt;</code>"} {
		if !strings.Contains(got, s) {
			t.Errorf("no %s in %s", s, got)
		}
	}
}
