package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/vg"
)

// system holds the fonts of this computer that letters were looked for in.
var system = struct {
	sync.Mutex                   // guards all
	folders    []string          // nil: those of the operating system
	files      []string          // of fonts, nil before the first look
	used       []*sfnt.Font      // that had a letter, whose files stay open
	of         map[rune]*outline // nil: no font has it
	buffer     sfnt.Buffer
}{}

// SetFolders sets where fonts are looked for that have letters which the figures' fonts
// lack: none without arguments. Nobody needs to call it; tests do.
func SetFolders(folders ...string) {
	system.Lock()
	defer system.Unlock()
	system.folders, system.files, system.used, system.of = append([]string{}, folders...), nil, nil, nil
}

// fontFolders returns where the operating system keeps fonts.
func fontFolders() []string {
	home, _ := os.UserHomeDir()
	switch runtime.GOOS {
	case "windows":
		return []string{filepath.Join(os.Getenv("WINDIR"), "Fonts"), filepath.Join(os.Getenv("LOCALAPPDATA"), "Microsoft", "Windows", "Fonts")}
	case "darwin":
		return []string{"/System/Library/Fonts", "/Library/Fonts", filepath.Join(home, "Library", "Fonts")}
	}
	return []string{filepath.Join(home, ".local", "share", "fonts"), filepath.Join(home, ".fonts"), "/usr/local/share/fonts", "/usr/share/fonts"}
}

// likely are parts of the names of fonts that have many letters, the likeliest first,
// and of plain styles before others.
var likely = []string{"cjk", "pingfang", "hiragino", "msyh", "simsun", "yugoth", "malgun", "arialuni", "arial unicode", "wqy", "droidsansfallback", "unifont", "ipag", "nanum", "uming", "notosans-regular", "dejavusans.", "symbola", "seguisym", "seguiemj", "notosans"}

// mostFiles bounds the font files that letters are looked for in.
const mostFiles = 200

// fontFiles returns the files of fonts below folders, the likeliest first.
func fontFiles(folders []string) []string {
	var files []string
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read has no fonts
			if err == nil && !d.IsDir() && slices.Contains([]string{".ttf", ".otf", ".ttc", ".otc"}, strings.ToLower(filepath.Ext(path))) {
				files = append(files, path)
			}
			return nil
		})
	}
	rank := func(path string) int {
		name := strings.ToLower(filepath.Base(path))
		r := slices.IndexFunc(likely, func(part string) bool { return strings.Contains(name, part) })
		if r < 0 {
			r = len(likely)
		}
		r *= 2
		if !strings.Contains(name, "bold") && !strings.Contains(name, "italic") && !strings.Contains(name, "oblique") && !strings.Contains(name, "mono") {
			r--
		}
		return r
	}
	slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	return files[:min(len(files), mostFiles)]
}

// An outline is a letter of a font, in units of its size.
type outline struct {
	segments []sfnt.Segment
	advance  float64
	per      float64 // units of the segments for each of the size
}

// outlineOf returns a letter of a font of this computer, nil if none has it.
func outlineOf(r rune) *outline {
	system.Lock()
	defer system.Unlock()
	if o, known := system.of[r]; known {
		return o
	}
	if system.of == nil {
		folders := system.folders
		if folders == nil {
			folders = fontFolders()
		}
		system.of, system.files = map[rune]*outline{}, fontFiles(folders)
	}
	o := letterAmong(r)
	system.of[r] = o
	return o
}

// letterAmong looks for a letter in all fonts, first in those that had another. system
// is locked.
func letterAmong(r rune) *outline {
	for _, f := range system.used {
		if o := letterOf(f, r); o != nil {
			return o
		}
	}
	for _, path := range system.files {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if all, err := sfnt.ParseCollectionReaderAt(file); err == nil && all.NumFonts() > 0 {
			// A collection's fonts have the same letters in the shapes of several languages.
			if f, err := all.Font(0); err == nil {
				if o := letterOf(f, r); o != nil {
					system.used = append(system.used, f)
					return o
				}
			}
		}
		file.Close()
	}
	return nil
}

// letterOf returns a letter of a font, nil if it has none with an outline: those of
// colours have pictures. system is locked.
func letterOf(f *sfnt.Font, r rune) (o *outline) {
	defer func() {
		if recover() != nil { // a font that is broken
			o = nil
		}
	}()
	i, err := f.GlyphIndex(&system.buffer, r)
	if err != nil || i == 0 {
		return nil
	}
	const size = 1000
	segments, err := f.LoadGlyph(&system.buffer, i, fixed.I(size), nil)
	if err != nil || len(segments) == 0 {
		return nil
	}
	advance, err := f.GlyphAdvance(&system.buffer, i, fixed.I(size), font.HintingNone)
	if err != nil {
		return nil
	}
	return &outline{slices.Clone([]sfnt.Segment(segments)), float64(advance) / 64 / size, 64 * size}
}

// path returns the letter as a path at a point.
func (o *outline) path(at vg.Point, size vg.Length) vg.Path {
	point := func(p fixed.Point26_6) vg.Point {
		scale := size / vg.Length(o.per)
		return vg.Point{X: at.X + vg.Length(p.X)*scale, Y: at.Y - vg.Length(p.Y)*scale}
	}
	var path vg.Path
	for _, s := range o.segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if len(path) > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	path.Close()
	return path
}

// fontFor names a font to install for letters.
func fontFor(letters []rune) string {
	for _, r := range letters {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo):
			return "Noto Sans CJK (package fonts-noto-cjk)"
		case r >= 0x1f000:
			return "Symbola (package fonts-symbola)"
		}
	}
	return "Noto Sans (package fonts-noto-core)"
}
