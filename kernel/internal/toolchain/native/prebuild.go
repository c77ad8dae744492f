package native

import (
	"context"
	"fmt"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/internal/toolchain/background"
)

// prebuilt are packages that hot functions often import. A plugin is compiled in another
// mode than a program, so that the first one waits until the go command has compiled all
// that it imports anew: half a minute of a processor for these.
var prebuilt = []string{"bufio", "bytes", "cmp", "container/heap", "container/list", "context", "encoding/json", "errors", "fmt", "io", "maps", "math",
	"math/big", "math/bits", "math/cmplx", "math/rand", "math/rand/v2", "os", "regexp", "slices", "sort", "strconv", "strings", "sync", "sync/atomic", "time",
	"unicode", "unicode/utf8"}

// Prebuild has the go command compile what plugins import, so that the first of them is
// built in a second or two. It takes no time where that has been done.
func (l *Loader) Prebuild(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, err := l.ready()
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("package cell\n\nimport (\n")
	for _, p := range prebuilt {
		fmt.Fprintf(&b, "\t_ %q\n", p)
	}
	b.WriteString(")\n\nvar Xˑˑ = map[string]any{}\n")
	const name = "prebuilt"
	path := buildinfo.Path("cells/" + name)
	if err := t.build(background.Work(ctx), path, map[string]string{path: b.String()}, "", name); err != nil {
		return err
	}
	return remove(t.cache.file(name))
}
