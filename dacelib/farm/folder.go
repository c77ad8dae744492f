package farm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/internal/process"
)

// The layout of a folder:
//
//	blobs/KEY              a blob
//	tasks/CLASS/ID         a message that waits
//	taken/WORKER/ID        a message that a worker computes: it was renamed
//	results/KE/KEY         a result with its checksum; the first stays
//	inbox/CALLER/NAME      what a worker tells a caller
//	workers/NAME           a worker, rewritten every few seconds
//	callers/NAME           a caller, rewritten every few seconds
//	logs/NAME              what a worker has said of itself
//	taken/WORKER/.end      asks a worker to end, and says why
//	tmp/                   files that are being written
//
// Files appear complete, by renaming, and are checked when they are read. No
// time stamp is compared with another machine's clock: a worker is dead when its
// file stays the same for long by the reader's own clock, or at once if its
// process was on this machine and is gone. Its file is written in place: file
// systems of networks may show a new file of a name late, but read one that is
// opened again anew. A worker that comes back is given twice the time from then
// on.
const (
	beatEvery   = 2 * time.Second
	beatSilent  = 13 * time.Second
	mostPatient = 8 * beatSilent
)

// Folder returns a pool in a folder that this machine and its workers share;
// "dace worker -join DIR" starts a worker. It needs no server and no port. What
// it leaves behind, mostly results, speeds up a call that is repeated; the
// folder may be deleted when no work is going on.
func Folder(dir string) (*FolderPool, error) {
	f := &folder{dir: dir}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	p := &FolderPool{folder: f, caller: WorkerName(), heard: map[string]*heard{}, patience: map[string]time.Duration{}}
	if err := disk.MkdirAll(f.path("inbox", p.caller), 0o700); err != nil {
		return nil, fmt.Errorf("farm: %w", err)
	}
	p.Dispatcher = NewDispatcher(p, p.caller, NewEnv(1, f.Get, f.Put), 5*time.Second)
	return p, nil
}

// folder is what callers and workers do with a folder.
type folder struct{ dir string }

func (f *folder) path(parts ...string) string {
	return filepath.Join(append([]string{f.dir}, parts...)...)
}

// prepare makes the folders. It refuses those of other users, and those that
// others can write to: a message in them is run by the workers.
func (f *folder) prepare() error {
	for _, name := range []string{"", "blobs", "tasks", "taken", "results", "inbox", "workers", "callers", "logs", "tmp"} {
		err := disk.MkdirAll(f.path(name), 0o700)
		if err == nil {
			err = process.OwnFolder(f.path(name))
		}
		if err != nil {
			return fmt.Errorf("farm: the folder %s cannot be used: %w", f.dir, err)
		}
	}
	return nil
}

// write writes a file that appears complete or not at all. It is not flushed to
// the disk, which takes milliseconds: whoever reads a file checks its checksum.
func (f *folder) write(path string, b []byte) error {
	err := f.place(path, b, disk.Rename)
	return f.explain(err, len(b))
}

// create is write for a file that stays if it is there: the error is then
// fs.ErrExist.
func (f *folder) create(path string, b []byte) error {
	err := f.place(path, b, func(tmp, path string) error {
		err := disk.Link(tmp, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			_ = os.Remove(tmp)
			return err
		}
		if _, there := os.Lstat(path); there == nil {
			return fs.ErrExist
		}
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return disk.Rename(tmp, path) // a file system without links
	})
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.explain(err, len(b))
}

// place writes a temporary file and moves it.
func (f *folder) place(path string, b []byte, move func(tmp, path string) error) error {
	tmp := f.path("tmp", fmt.Sprintf("%s-%d-%x", filepath.Base(path), os.Getpid(), rand.Uint64()))
	err := disk.WriteFile(tmp, b, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the folder was lost, unless all of it is gone
		if err = disk.Mkdir(filepath.Dir(tmp), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = disk.WriteFile(tmp, b, 0o600)
		}
	}
	if err == nil {
		if err = move(tmp, path); errors.Is(err, fs.ErrNotExist) { // its folder is not there yet
			if err = disk.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = move(tmp, path)
			}
		}
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

// explain says what is wrong with the folder.
func (f *folder) explain(err error, size int) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &NoRoom{fmt.Sprintf("farm: the file system of %s is full and has no room for %d bytes more: make room, or use another folder; what was computed is kept", f.dir, size)}
	}
	if err != nil {
		return fmt.Errorf("farm: %w", err)
	}
	return nil
}

func (f *folder) Put(_ context.Context, blob []byte) (string, error) {
	key := BlobKey(blob)
	if info, err := disk.Stat(f.path("blobs", key)); err == nil && info.Size() == int64(len(blob)) {
		return key, nil
	}
	return key, f.write(f.path("blobs", key), blob)
}

func (f *folder) Get(_ context.Context, key string) ([]byte, error) {
	if len(key) != 64 || strings.ContainsAny(key, `/\.`) {
		return nil, fmt.Errorf("farm: %q is no key of a blob", key)
	}
	b, err := disk.ReadFile(f.path("blobs", key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, MissingBlob(key)
	}
	if err == nil && BlobKey(b) != key { // torn: the next Put writes it again
		_ = os.Remove(f.path("blobs", key))
		return nil, MissingBlob(key)
	}
	return b, err
}

func (f *folder) resultPath(key string) string { return f.path("results", key[:2], key) }

// sealed returns b after its checksum.
func sealed(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(append([]byte(hex.EncodeToString(sum[:])), '\n'), b...)
}

// sealedJSON returns the JSON of a value of this package after its checksum.
func sealedJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("farm: a message that is no JSON: " + err.Error())
	}
	return sealed(b)
}

// unsealed returns what sealed has sealed; ok is false if it is torn.
func unsealed(b []byte) (content []byte, ok bool) {
	sum, content, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return nil, false
	}
	want := sha256.Sum256(content)
	return content, string(sum) == hex.EncodeToString(want[:])
}

// Restore implements [Restorer].
func (f *folder) Restore(_ context.Context, blob []byte) error {
	return f.write(f.path("blobs", BlobKey(blob)), blob)
}

// Drop implements [Dropper].
func (f *folder) Drop(keys []string) {
	for _, key := range keys {
		_ = os.Remove(f.resultPath(key))
	}
}

// result reads a result; it removes a torn one.
func (f *folder) result(key string) (Result, bool) {
	var r Result
	b, err := disk.ReadFile(f.resultPath(key))
	if err != nil {
		return r, false
	}
	content, ok := unsealed(b)
	if !ok || json.Unmarshal(content, &r) != nil || r.Key != key {
		_ = os.Remove(f.resultPath(key))
		return r, false
	}
	return r, true
}

// A notice is what a worker tells a caller.
type notice struct {
	Kind   string `json:"kind"` // took, result, failed, missing, checked, back, conflict, cancel
	ID     string `json:"id,omitempty"`
	Key    string `json:"key,omitempty"`
	Unit   int    `json:"unit,omitempty"`
	Worker string `json:"worker"`
	Host   string `json:"host"`
	Words  string `json:"words,omitempty"`
}

// callerOf returns the name of the caller in a message's ID.
func callerOf(id string) string {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return ""
	}
	return id[:i]
}

// A FolderPool is the pool of [Folder].
type FolderPool struct {
	*Dispatcher
	*folder
	caller string

	mu      sync.Mutex // guards the fields below
	users   int        // calls of Do
	unwatch func()     // ends watch and waits for it
	heard   map[string]*heard
	// patience is how long a worker may be silent, if it has come back before.
	patience map[string]time.Duration
	shown    map[string]string // the states of other callers
}

// heard is what the caller knows of a worker's file.
type heard struct {
	content []byte
	at      time.Time // when the content changed, by this process's clock
	worker  beat
}

// A beat is a worker's file.
type beat struct {
	Worker
	// Beat counts, Machine identifies the machine's process table.
	Beat    int    `json:"beat"`
	Machine string `json:"machine"`
}

// machine identifies the table of processes that a process ID belongs to.
var machine = sync.OnceValue(func() string {
	boot, err := disk.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
})

// Do implements [Pool].
func (p *FolderPool) Do(ctx context.Context, units []Unit, done func(i int, result []byte) error) error {
	p.mu.Lock()
	if p.users++; p.users == 1 {
		stop, watching := make(chan struct{}), new(sync.WaitGroup)
		watching.Go(func() { p.watch(stop) })
		p.unwatch = func() { close(stop); watching.Wait() }
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.users--
		last, unwatch := p.users == 0, p.unwatch
		p.mu.Unlock()
		if last { // who has its result may remove the folder
			unwatch()
		}
	}()
	p.hear()
	return p.Dispatcher.Do(ctx, units, done)
}

// Put implements [Pool].
func (p *FolderPool) Put(ctx context.Context, blob []byte) (string, error) {
	if err := p.Keep(BlobKey(blob), blob); err != nil {
		return "", err
	}
	return p.folder.Put(ctx, blob)
}

// show writes the caller's file.
func (p *FolderPool) show() {
	_ = p.write(p.path("callers", p.caller), sealedJSON(p.Caller())) // others learn of it the next time
}

// Callers returns the processes that have work done in the folder, as their files
// tell of them; those of processes of this machine that are gone are left out.
func (p *FolderPool) Callers() []Caller {
	entries, _ := disk.ReadDir(p.path("callers"))
	var out []Caller
	for _, e := range entries {
		b, err := disk.ReadFile(p.path("callers", e.Name()))
		content, ok := unsealed(b)
		var c Caller
		if err != nil || !ok || json.Unmarshal(content, &c) != nil || c.Name != e.Name() {
			continue
		}
		if host, _ := os.Hostname(); c.Host == host && process.Gone(c.Process) {
			_ = os.Remove(p.path("callers", e.Name()))
			continue
		}
		out = append(out, c)
	}
	return out
}

// Dismiss implements [Dismisser].
func (p *FolderPool) Dismiss(worker, why string) {
	_ = p.write(p.path("taken", worker, ".end"), []byte(why)) // it gets nothing from this process in any case
}

// Log returns what a worker has said of itself.
func (f *folder) Log(worker string) (string, error) {
	if worker == "" || strings.ContainsAny(worker, `/\`) || worker[0] == '.' {
		return "", fmt.Errorf("farm: %q is no name of a worker", worker)
	}
	b, err := disk.ReadFile(f.path("logs", worker))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("farm: no worker of the name %s has left a log in %s", worker, f.dir)
	}
	return string(b), err
}

// CancelCaller ends the calls of another process; why says who wants it.
func (p *FolderPool) CancelCaller(caller, why string) error {
	if there := p.Callers(); !slices.ContainsFunc(there, func(c Caller) bool { return c.Name == caller }) {
		return NoCaller(caller, there)
	}
	return p.write(p.path("inbox", caller, p.caller+"-cancel"), sealedJSON(notice{Kind: "cancel", Words: why}))
}

// Workers returns the workers, sorted by name, as their files tell of them now.
func (p *FolderPool) Workers() []Worker {
	p.hear()
	return p.Dispatcher.Workers()
}

// Close removes what belongs to this process alone.
func (p *FolderPool) Close() error {
	_ = os.Remove(p.path("callers", p.caller))
	return os.RemoveAll(p.path("inbox", p.caller))
}

// watch reads the caller's inbox and the workers' files.
func (p *FolderPool) watch(stop chan struct{}) {
	wait, heard, shown := time.Millisecond, time.Time{}, time.Time{}
	for {
		select {
		case <-stop:
			_ = os.Remove(p.path("callers", p.caller))
			return
		case <-time.After(wait):
		}
		if p.readInbox() > 0 {
			wait = time.Millisecond
		} else {
			wait = min(2*wait, 50*time.Millisecond)
		}
		if time.Since(heard) > time.Second {
			p.hear()
			heard = time.Now()
		}
		if time.Since(shown) > PeerEvery {
			shown = time.Now()
			p.show()
			for _, c := range p.Callers() {
				p.peer(c)
			}
		}
	}
}

// peer reports another caller whose file has changed.
func (p *FolderPool) peer(c Caller) {
	state := fmt.Sprintf("%+v", c)
	p.mu.Lock()
	changed := p.shown[c.Name] != state
	if p.shown == nil || len(p.shown) > 1000 {
		p.shown = map[string]string{}
	}
	p.shown[c.Name] = state
	p.mu.Unlock()
	if changed { // the stage's seconds grow as long as it lives
		p.Peer(c)
	}
}

// readInbox reports what workers have told, and returns the number of notices.
func (p *FolderPool) readInbox() int {
	dir := p.path("inbox", p.caller)
	entries, err := disk.ReadDir(dir)
	if err != nil {
		_ = disk.MkdirAll(dir, 0o700)
		return 0
	}
	n := 0
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		b, err := disk.ReadFile(path)
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		_ = os.Remove(path)
		n++
		var t notice
		if content, ok := unsealed(b); !ok || json.Unmarshal(content, &t) != nil {
			continue // torn: what it told is found by looking again
		}
		switch t.Kind {
		case "took":
			p.Took(t.ID, t.Worker, t.Host)
		case "result":
			if r, ok := p.result(t.Key); ok {
				p.Done(r)
			}
		case "failed":
			p.Failed(t.ID, t.Unit, t.Worker, t.Host, t.Words)
		case "missing":
			p.Missing(t.ID, t.Unit, t.Worker, t.Host, t.Key)
		case "checked":
			p.Checked(t.ID, t.Key, t.Worker, t.Host, t.Words)
		case "note":
			p.Note("worker %s on %s: %s", t.Worker, t.Host, t.Words)
		case "cancel":
			p.Cancel(t.Words)
		case "back":
			p.Back(t.ID, t.Worker)
		case "conflict":
			p.Conflict(t.Key, t.Worker, t.Words)
		}
	}
	return n
}

// hear reads the workers' files and reports news of them and their deaths.
func (p *FolderPool) hear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := disk.ReadDir(p.path("workers"))
	if err != nil {
		return
	}
	there := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		b, err := disk.ReadFile(p.path("workers", name))
		if err != nil || strings.HasPrefix(name, ".") {
			continue
		}
		there[name] = true
		h := p.heard[name]
		if h == nil {
			h = &heard{}
			p.heard[name] = h
		}
		if !bytes.Equal(h.content, b) {
			content, ok := unsealed(b)
			var w beat
			if !ok || json.Unmarshal(content, &w) != nil || w.Name != name {
				continue // its next beat replaces it
			}
			h.content, h.at, h.worker = b, time.Now(), w
			if p.vanished(w) {
				p.bury(name, true)
				continue
			}
			if p.Working() { // a call may wait for who calls this
				go p.Alive(w.Worker)
			} else {
				p.Alive(w.Worker)
			}
		} else if p.vanished(h.worker) {
			p.bury(name, true)
		} else if time.Since(h.at) > max(beatSilent, p.patience[name]) {
			p.patience[name] = min(2*max(beatSilent, p.patience[name]), mostPatient)
			p.bury(name, false)
		}
	}
	for name := range p.heard {
		if !there[name] {
			delete(p.heard, name)
			go p.Gone(name, false, "")
		}
	}
}

// vanished reports whether a worker's process was on this machine and is gone.
func (p *FolderPool) vanished(w beat) bool {
	return w.Machine != "" && w.Machine == machine() && w.Process > 0 && process.Gone(w.Process)
}

// bury reports a worker's death or silence and removes its file. Every caller that
// hears of the worker does so; each queues its own messages again.
func (p *FolderPool) bury(name string, died bool) {
	delete(p.heard, name)
	_ = os.Remove(p.path("workers", name))
	if held, err := disk.ReadDir(p.path("taken", name)); err == nil {
		for _, e := range held {
			if callerOf(e.Name()) == p.caller {
				_ = os.Remove(p.path("taken", name, e.Name()))
			}
		}
		_ = os.Remove(p.path("taken", name)) // if nothing of other callers is left
	}
	if died {
		go p.Gone(name, true, "")
	} else {
		go p.Silent(name)
	}
}

// Send implements [Transport].
func (p *FolderPool) Send(_ context.Context, m Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("farm: the data of a unit are no JSON: %w", err)
	}
	return p.write(p.path("tasks", m.Class(), m.ID), sealed(b))
}

// Queued implements [Transport].
func (p *FolderPool) Queued(_ context.Context, m Message) (bool, error) {
	_, err := disk.Stat(p.path("tasks", m.Class(), m.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Withdraw implements [Transport]. A worker that has a message notices that its
// file is gone.
func (p *FolderPool) Withdraw(messages []Message) {
	for _, m := range messages {
		_ = os.Remove(p.path("tasks", m.Class(), m.ID))
	}
	workers, _ := disk.ReadDir(p.path("taken")) // also those that came meanwhile
	for _, m := range messages {
		for _, w := range workers {
			_ = os.Remove(p.path("taken", w.Name(), m.ID))
		}
	}
}

// Look implements [Transport].
func (p *FolderPool) Look(_ context.Context, keys []string) ([]Result, error) {
	var out []Result
	for _, key := range keys {
		if r, ok := p.result(key); ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// FolderSource returns a source of messages for a worker, in a folder; see
// [Folder].
func FolderSource(dir string) (Source, error) {
	f := &folderSource{folder: folder{dir: dir}, running: map[string]context.CancelFunc{}, beaten: time.Now(), fired: make(chan struct{})}
	return f, f.prepare()
}

type folderSource struct {
	folder
	name    string
	state   func() Worker
	classes []string
	ended   chan struct{} // closed when beating has stopped
	fired   chan struct{} // closed when the worker was asked to end

	mu      sync.Mutex // guards the fields below
	beat    int
	beaten  time.Time // when the worker's file was last written
	notices int
	asked   bool                          // to end
	running map[string]context.CancelFunc // by message ID
}

func (f *folderSource) Join(ctx context.Context, state func() Worker) error {
	f.state = state
	w := state()
	f.name, f.classes = w.Name, w.Identity.Classes()
	if err := f.live(); err != nil {
		return err
	}
	f.ended = make(chan struct{})
	go func() {
		defer close(f.ended)
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
			f.cancelWithdrawn()
			if time.Since(last) > beatEvery {
				last = time.Now()
				_ = f.live() // the next one may succeed
			}
		}
	}()
	return nil
}

// live writes the worker's file.
func (f *folderSource) live() error {
	f.mu.Lock()
	f.beat++
	content := sealedJSON(beat{Worker: f.state(), Beat: f.beat, Machine: machine()})
	f.mu.Unlock()
	for _, dir := range []string{"workers", "taken", filepath.Join("taken", f.name)} { // not the farm's folder, which may be gone
		if err := disk.Mkdir(f.path(dir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("farm: %w", err)
		}
	}
	if why, err := disk.ReadFile(f.path("taken", f.name, ".end")); err == nil {
		f.dismissed(string(why))
	}
	// In place: see beatEvery. Who reads it meanwhile waits for the next one.
	if err := f.explain(disk.WriteFile(f.path("workers", f.name), content, 0o600), len(content)); err != nil {
		return err
	}
	f.mu.Lock()
	f.beaten = time.Now()
	f.mu.Unlock()
	return nil
}

// dismissed ends the worker.
func (f *folderSource) dismissed(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.asked {
		f.asked = true
		f.Log(time.Now().UTC().Format(time.DateTime) + " is asked to end: " + why)
		close(f.fired)
	}
}

// Away implements [Linked].
func (f *folderSource) Away() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.beaten)
}

// mostLog bounds the bytes of a worker's log in a folder.
const mostLog = 4 << 20

// Log implements [Logger].
func (f *folderSource) Log(line string) {
	file, err := disk.OpenFile(f.path("logs", f.name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return // a log that cannot be written is no reason to end
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < mostLog {
		_, _ = file.WriteString(line + "\n")
	}
}

// cancelWithdrawn cancels the messages whose files are gone.
func (f *folderSource) cancelWithdrawn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, cancel := range f.running {
		if _, err := disk.Stat(f.path("taken", f.name, id)); errors.Is(err, fs.ErrNotExist) {
			cancel()
		}
	}
}

// tell leaves a notice for the caller of a message.
func (f *folderSource) tell(caller string, t notice) error {
	w := f.state()
	t.Worker, t.Host = w.Name, w.Host
	f.mu.Lock()
	f.notices++
	name := fmt.Sprintf("%s-%d", f.name, f.notices)
	f.mu.Unlock()
	inbox := f.path("inbox", caller)
	if _, err := disk.Stat(inbox); err != nil {
		return nil // the caller has ended
	}
	return f.write(filepath.Join(inbox, name), sealedJSON(t))
}

func (f *folderSource) Take(ctx context.Context) (Message, context.Context, error) {
	wait := 2 * time.Millisecond
	for {
		m, ok := f.find()
		if ok {
			of, cancel := context.WithCancel(ctx)
			f.mu.Lock()
			f.running[m.ID] = cancel
			f.mu.Unlock()
			return m, of, f.tell(callerOf(m.ID), notice{Kind: "took", ID: m.ID})
		}
		// Workers of many machines should not look at the same moment.
		pause := wait/2 + rand.N(wait)
		select {
		case <-ctx.Done():
			return Message{}, nil, ctx.Err()
		case <-f.fired:
			return Message{}, nil, io.EOF
		case <-time.After(pause):
		}
		wait = min(2*wait, 400*time.Millisecond)
	}
}

// find takes a message if there is one: that of a random caller which was
// queued first.
func (f *folderSource) find() (Message, bool) {
	for _, class := range f.classes {
		entries, err := disk.ReadDir(f.path("tasks", class))
		if err != nil {
			continue
		}
		var callers []string
		for _, e := range entries {
			if c := callerOf(e.Name()); c != "" && c[0] != '.' && !slices.Contains(callers, c) {
				callers = append(callers, c)
			}
		}
		for _, i := range rand.Perm(len(callers)) {
			for _, e := range entries { // sorted by name, and so by number
				if callerOf(e.Name()) != callers[i] {
					continue
				}
				mine := f.path("taken", f.name, e.Name())
				if disk.Rename(f.path("tasks", class, e.Name()), mine) != nil {
					continue // another worker was faster
				}
				var m Message
				b, err := disk.ReadFile(mine)
				content, ok := unsealed(b)
				if err != nil || !ok || json.Unmarshal(content, &m) != nil || m.ID != e.Name() || len(m.Units) == 0 {
					_ = os.Remove(mine) // torn: its caller queues it again
					continue
				}
				return m, true
			}
		}
	}
	return Message{}, false
}

// forget ends the worker's hold of a message.
func (f *folderSource) forget(id string) {
	f.mu.Lock()
	if cancel := f.running[id]; cancel != nil {
		cancel()
		delete(f.running, id)
	}
	f.mu.Unlock()
	_ = os.Remove(f.path("taken", f.name, id))
}

func (f *folderSource) Result(_ context.Context, m Message, r Result) error {
	forget := func() {
		if r.Key == m.Units[len(m.Units)-1].Key() {
			f.forget(m.ID)
		}
	}
	if m.Check {
		defer forget()
		return f.tell(callerOf(m.ID), notice{Kind: "checked", ID: m.ID, Key: r.Key, Words: BlobKey(r.Data)})
	}
	b := sealedJSON(r)
	err := f.create(f.resultPath(r.Key), b)
	if errors.Is(err, fs.ErrExist) {
		if old, ok := f.result(r.Key); !ok { // it was torn
			err = f.write(f.resultPath(r.Key), b)
		} else if err = nil; !bytes.Equal(old.Data, r.Data) {
			forget()
			return f.tell(callerOf(m.ID), notice{Kind: "conflict", Key: r.Key, Words: old.Worker})
		}
	}
	if err != nil {
		return err
	}
	forget()
	return f.tell(callerOf(m.ID), notice{Kind: "result", Key: r.Key})
}

func (f *folderSource) Note(m Message, words string) {
	_ = f.tell(callerOf(m.ID), notice{Kind: "note", Words: words}) // the worker's log has it, too
}

func (f *folderSource) Missing(_ context.Context, m Message, unit int, key string) error {
	f.forget(m.ID)
	return f.tell(callerOf(m.ID), notice{Kind: "missing", ID: m.ID, Unit: unit, Key: key})
}

func (f *folderSource) Failed(_ context.Context, m Message, unit int, words string) error {
	f.forget(m.ID)
	return f.tell(callerOf(m.ID), notice{Kind: "failed", ID: m.ID, Unit: unit, Words: words})
}

func (f *folderSource) Back(_ context.Context, m Message) error {
	f.forget(m.ID)
	return f.tell(callerOf(m.ID), notice{Kind: "back", ID: m.ID})
}

func (f *folderSource) Leave(context.Context) {
	if f.ended != nil {
		<-f.ended
	}
	_ = os.Remove(f.path("workers", f.name))
	_ = os.Remove(f.path("taken", f.name, ".end"))
	_ = os.Remove(f.path("taken", f.name))
}
