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
	// Name is the name that [Fetch] and [Load] take: "wiki".
	Name string
	// File is the name of its file, URL the address from which it is fetched.
	File, URL string
	// Checksum is the checksum of its edges; see [EdgeList.Checksum].
	Checksum string
	// Directed is false if each line stands for both directions.
	Directed bool
	// Nodes is the number of nodes, Lines the number of lines with edges.
	Nodes, Lines int
	// Size is the size of its text in bytes, uncompressed.
	Size int64
}

// limit returns the maximal number of bytes accepted for the dataset's
// uncompressed text, with room for other blanks, line ends and comments.
func (d Dataset) limit() int64 { return 2 * d.Size }

// Datasets returns the three networks of the paper.
func Datasets() []Dataset {
	const from = "https://snap.stanford.edu/data/"
	all := []Dataset{
		{
			Name: "wiki", File: "wiki-Vote.txt.gz", Directed: true, Nodes: 7115, Lines: 103689, Size: 991143,
			Checksum: "b372b4280f0113d950231d9afccc8c54a3b621e6c16e9f1bb510803261c5a733",
		},
		{
			Name: "facebook", File: "facebook_combined.txt.gz", Directed: false, Nodes: 4039, Lines: 88234, Size: 854420,
			Checksum: "f41c026ed8af3cc3359f1ca5573d0605fb09ae0eefa34544b820fd8c6e2ef296",
		},
		{
			Name: "epinions", File: "soc-Epinions1.txt.gz", Directed: true, Nodes: 75879, Lines: 508837, Size: 5154133,
			Checksum: "373e05d9d54a4f483ac218b8c99a7dbf9340e7c92e5cf2e8c88d22465a2ad00b",
		},
	}
	for i := range all {
		all[i].URL = from + all[i].File
	}
	return all
}

// Find returns the dataset with a name: name is "wiki", "facebook" or
// "epinions".
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

// Dir returns the folder of the networks: the value of the environment variable
// DACE_DATA or, if it is not set, dace/data in the user's cache.
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

// Path returns the path of the dataset's file in [Dir], and whether the file
// exists.
func (d Dataset) Path() (path string, there bool, err error) {
	dir, err := Dir()
	if err != nil {
		return "", false, err
	}
	path, there = d.locate(dir)
	return path, there, nil
}

// locate returns the path of d's file in dir, compressed or not.
func (d Dataset) locate(dir string) (path string, ok bool) {
	for _, name := range []string{d.File, strings.TrimSuffix(d.File, ".gz")} {
		path = filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return filepath.Join(dir, d.File), false
}

// A MissingError reports that a network has not been fetched.
type MissingError struct {
	// Dataset is the network that is missing.
	Dataset Dataset
	Path    string // where the file was looked for
}

// Error returns the message, which says how to fetch the network.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the network %s is not on this computer: run `dace data fetch %s`, or put %s at %s, or set DACE_DATA to the folder that holds it",
		e.Dataset.Name, e.Dataset.Name, e.Dataset.URL, e.Path)
}

// Load reads a network from [Dir] and verifies its checksum: name is "wiki",
// "facebook" or "epinions". If the file is missing, the error is a
// [*MissingError].
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

// read reads a dataset's file and verifies it.
func (d Dataset) read(path string) (*EdgeList, error) {
	l, err := readFile(path, d.limit())
	if err != nil {
		return nil, err
	}
	if sum := l.Checksum(); sum != d.Checksum {
		return nil, fmt.Errorf("%s is not the network %s: it has %d nodes and %d edges with checksum %s; expected are %d, %d and %s; delete it and fetch it again",
			path, d.Name, len(l.IDs), len(l.Edges), sum, d.Nodes, d.Lines, d.Checksum)
	}
	return l, nil
}

// FetchSettings are the settings of a download: its source and destination.
type FetchSettings struct {
	// Dir is the folder that receives the file; empty means [Dir].
	Dir string
	// URL, if not empty, replaces the dataset's URL, for example by a mirror's.
	URL string
	// Client makes the request; nil means http.DefaultClient.
	Client *http.Client
	// OnEvent, if not nil, receives the progress in bytes; Total is 0 if the
	// server does not report the size.
	OnEvent func(run.Event)
}

// Fetch downloads a network and returns the path of its file: name is "wiki",
// "facebook" or "epinions". If the file exists already, it is only verified. An
// interrupted download stays beside it as FILE.part, and the next Fetch
// continues it; at most twice the network's size is accepted from the server.
// The file gets its name only when its edges have the right checksum.
func Fetch(ctx context.Context, name string, s FetchSettings) (string, error) {
	defer run.Report(&ctx, "fetch "+name, &s.OnEvent)()
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
			// The partial file may be of another version: download it once more
			// in full.
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

// download appends the missing rest of the file to part.
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
	if have > d.limit() {
		have = 0 // too long to be a part of the network
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
	case http.StatusOK: // the server sends the whole file, although a range was asked for
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
	tooLong := fmt.Errorf("%s sends more than %d bytes, and the network has %d: this is another file", d.URL, d.limit(), d.Size)
	if total > d.limit() {
		return false, errors.Join(tooLong, f.Truncate(0))
	}
	p := &progress{Reader: resp.Body, f: s.OnEvent, stage: "fetch " + d.Name, at: have, total: total}
	n, err := io.Copy(f, io.LimitReader(p, d.limit()-have+1))
	p.report()
	if have+n > d.limit() {
		err = errors.Join(tooLong, f.Truncate(0))
	}
	return resumed, err
}

// A progress reports the bytes read through it, at most ten times a second.
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
