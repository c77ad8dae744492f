package snap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dace.local/dacelib/run"
)

// A Dataset is a network that can be fetched.
type Dataset struct {
	// Name is what [Fetch] and [Load] know it by: "wiki".
	Name string
	// File is its file's name, URL where it comes from.
	File, URL string
	// Checksum is that of its edges; see [EdgeList.Checksum].
	Checksum string
	// Directed is false where each line stands for both directions.
	Directed bool
	// Nodes and Lines are the numbers of nodes and of lines with edges.
	Nodes, Lines int
}

// Datasets returns the three networks of the paper.
func Datasets() []Dataset {
	const from = "https://snap.stanford.edu/data/"
	all := []Dataset{
		{
			Name: "wiki", File: "wiki-Vote.txt.gz", Directed: true, Nodes: 7115, Lines: 103689,
			Checksum: "b372b4280f0113d950231d9afccc8c54a3b621e6c16e9f1bb510803261c5a733",
		},
		{
			Name: "facebook", File: "facebook_combined.txt.gz", Directed: false, Nodes: 4039, Lines: 88234,
			Checksum: "f41c026ed8af3cc3359f1ca5573d0605fb09ae0eefa34544b820fd8c6e2ef296",
		},
		{
			Name: "epinions", File: "soc-Epinions1.txt.gz", Directed: true, Nodes: 75879, Lines: 508837,
			Checksum: "373e05d9d54a4f483ac218b8c99a7dbf9340e7c92e5cf2e8c88d22465a2ad00b",
		},
	}
	for i := range all {
		all[i].URL = from + all[i].File
	}
	return all
}

// Find returns the dataset of a name.
func Find(name string) (Dataset, error) {
	var names []string
	for _, d := range Datasets() {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Dataset{}, fmt.Errorf("snap: there is no network %q; there are %s", name, strings.Join(names, ", "))
}

// Dir returns the folder of the networks: the one that the environment
// variable DACE_DATA names, else dace/data in the user's cache.
func Dir() (string, error) {
	if dir := os.Getenv("DACE_DATA"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("snap: no folder for data: %w; set DACE_DATA to one", err)
	}
	return filepath.Join(cache, "dace", "data"), nil
}

// Path returns where the dataset's file is or would be in [Dir], and whether
// it is there.
func (d Dataset) Path() (path string, there bool, err error) {
	dir, err := Dir()
	if err != nil {
		return "", false, err
	}
	path, there = d.locate(dir)
	return path, there, nil
}

// locate returns the file of d in dir, compressed or not.
func (d Dataset) locate(dir string) (path string, ok bool) {
	for _, name := range []string{d.File, strings.TrimSuffix(d.File, ".gz")} {
		path = filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return filepath.Join(dir, d.File), false
}

// A MissingError says that a network has not been fetched.
type MissingError struct {
	Dataset Dataset
	Path    string // where it was looked for
}

// Error returns the message, with what to do.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the network %s is not on this computer: run `dace data fetch %s`, or put %s at %s, or set DACE_DATA to the folder that holds it",
		e.Dataset.Name, e.Dataset.Name, e.Dataset.URL, e.Path)
}

// Load reads a network from [Dir] and verifies its checksum. Where the file
// is missing the error is a [*MissingError].
func Load(name string) (*EdgeList, error) {
	d, err := Find(name)
	if err != nil {
		return nil, err
	}
	path, there, err := d.Path()
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, &MissingError{d, path}
	}
	return d.read(path)
}

// read reads and verifies a file.
func (d Dataset) read(path string) (*EdgeList, error) {
	l, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	if sum := l.Checksum(); sum != d.Checksum {
		return nil, fmt.Errorf("%s is not the network %s: it has %d nodes and %d edges with checksum %s; expected are %d, %d and %s; delete it and fetch it again",
			path, d.Name, len(l.IDs), len(l.Edges), sum, d.Nodes, d.Lines, d.Checksum)
	}
	return l, nil
}

// FetchSettings says where to fetch from and to.
type FetchSettings struct {
	// Dir is the folder that receives the file; empty means [Dir].
	Dir string
	// URL replaces the dataset's: a mirror.
	URL string
	// Client makes the request; nil means http.DefaultClient.
	Client *http.Client
	// OnEvent, if not nil, is told the progress in bytes; Total is 0 where
	// the server does not say how many there are.
	OnEvent func(run.Event)
}

// Fetch downloads a network and returns the path of its file. A file that is
// there already is only verified. A download that ended early stays beside it
// as FILE.part, and the next Fetch goes on from there. The file appears under
// its name only when its edges have the right checksum.
func Fetch(ctx context.Context, name string, s FetchSettings) (string, error) {
	d, err := Find(name)
	if err != nil {
		return "", err
	}
	if s.URL != "" {
		d.URL = s.URL
	}
	if s.Dir == "" {
		if s.Dir, err = Dir(); err != nil {
			return "", err
		}
	}
	if path, ok := d.locate(s.Dir); ok {
		_, err := d.read(path)
		return path, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", fmt.Errorf("snap: cannot make the folder for %s: %w", d.File, err)
	}
	path := filepath.Join(s.Dir, d.File)
	part := path + ".part"
	resumed, err := s.download(ctx, d, part)
	if err == nil {
		if _, err = d.read(part); err != nil && resumed {
			// The beginning may have been of another file: once more in full.
			if err = os.Remove(part); err == nil {
				if _, err = s.download(ctx, d, part); err == nil {
					_, err = d.read(part)
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			os.Remove(part)
			err = fmt.Errorf("what came was not the network: %w", err)
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("snap: cannot fetch %s: %w\nBy hand: download %s on a computer with a network and put it at %s, or set DACE_DATA to a folder that holds it",
			d.Name, err, d.URL, path)
	}
	return path, os.Rename(part, path)
}

// download appends to part what is missing of it.
func (s FetchSettings) download(ctx context.Context, d Dataset, part string) (resumed bool, err error) {
	f, err := os.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	have, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return false, err
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
		var start int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-", &start); err != nil || start != have {
			return false, fmt.Errorf("%s sent the bytes %q instead of those from %d on", d.URL, resp.Header.Get("Content-Range"), have)
		}
		resumed = have > 0
	case http.StatusOK: // all of it, whatever was asked
		have = 0
		if err := f.Truncate(0); err != nil {
			return false, err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
	case http.StatusRequestedRangeNotSatisfiable: // nothing is missing
		return true, nil
	default:
		return false, fmt.Errorf("%s answered %s", d.URL, resp.Status)
	}
	total := int64(0)
	if resp.ContentLength >= 0 {
		total = have + resp.ContentLength
	}
	p := &progress{Reader: resp.Body, f: s.OnEvent, stage: "fetch " + d.Name, at: have, total: total}
	_, err = io.Copy(f, p)
	p.report()
	return resumed, err
}

// A progress reports what is read through it, at most ten times a second.
type progress struct {
	io.Reader
	f         func(run.Event)
	stage     string
	at, total int64
	last      time.Time
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.at += int64(n)
	if time.Since(p.last) > 100*time.Millisecond {
		p.report()
	}
	return n, err
}

func (p *progress) report() {
	p.last = time.Now()
	if p.f != nil {
		p.f(run.Event{Stage: p.stage, Step: int(p.at), Total: int(p.total), Value: math.NaN(), Best: math.NaN(), Detail: "bytes"})
	}
}
