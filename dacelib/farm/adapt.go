package farm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// Adapt keeps as many jobs as the units that wait need, from min to max, until
// [Farm.Stop]: those of [Settings].Batch, by default worker processes on this
// machine. Ended jobs are submitted again, idle workers leave, jobs that still
// wait when nothing needs them are cancelled, and Batch.CoreHours bounds what all
// of them may cost. It looks every five seconds, also at the units of other
// callers. Calling it again changes the numbers.
func (f *Farm) Adapt(min, max int) error {
	switch {
	case f.err != nil:
		return f.err
	case min < 0 || max < min:
		return fmt.Errorf("farm: from %d to %d jobs", min, max)
	}
	b := f.s.Batch
	limit, err := b.limits()
	if err != nil {
		return err
	}
	d, ok := f.Pool.(interface{ Demand() int })
	if !ok {
		return errors.New("farm: this pool does not tell how many units wait")
	}
	if b.Idle == 0 {
		b.Idle = adaptIdle
	}
	var l launcher = &processes{f: f, b: b, limit: limit}
	if b.Scheduler != "" {
		s, err := readScheduler(b.Scheduler)
		if err != nil {
			return err
		}
		l = &batchLauncher{f: f, b: b, s: s}
	}
	f.stopAdapting()
	ctx, stop := context.WithCancel(context.Background())
	a := &adapter{
		min: min, max: max, cores: b.Cores, limit: limit, budget: b.CoreHours, launcher: l, demand: d.Demand, jobs: map[string]*adapted{},
		note: func(text string) {
			if n, ok := f.Pool.(interface{ Note(string, ...any) }); ok {
				n.Note("%s", text)
			}
		},
	}
	f.mu.Lock()
	if f.adapting != nil { // what it has spent counts
		a.jobs, a.spent = f.adapting.jobs, f.adapting.spent
	}
	ended := make(chan struct{})
	f.adapting, f.adaptStop = a, func() { stop(); <-ended }
	f.mu.Unlock()
	go func() {
		defer close(ended)
		a.run(ctx)
	}()
	return nil
}

// stopAdapting ends the loop of Adapt; its jobs stay.
func (f *Farm) stopAdapting() {
	f.mu.Lock()
	stop := f.adaptStop
	f.adaptStop = nil
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

const (
	adaptEvery = 5 * time.Second
	// adaptIdle is how long a worker of Adapt waits for work before it leaves.
	adaptIdle = 2 * time.Minute
	// demandSeconds is how much work there should be for a slot to be worth a job.
	demandSeconds = 60
	// A job that ends this soon has failed; after some, the next wait longer and
	// longer.
	failedWithin = time.Minute
	failedPause  = 15 * time.Second
	mostPause    = 30 * time.Minute
)

// Demand returns how many slots the units of this process and of other callers
// could use: one for each that runs, and for those that wait as many as have a
// minute of work, by the mean time of those that are done.
func (d *Dispatcher) Demand() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.counts.demand()
	for _, p := range d.peers {
		if time.Since(p.seen) <= peerSilent {
			n += p.Counts.demand()
		}
	}
	return n
}

func (c Counts) demand() int {
	waiting := float64(c.Waiting)
	if c.Done > 0 {
		waiting = min(waiting, math.Ceil(waiting*c.Seconds/float64(c.Done)/demandSeconds))
	}
	return max(0, c.Running+int(waiting))
}

// A launcher starts the jobs of an adapter.
type launcher interface {
	// launch starts a job of workers that leave when they are idle, or not.
	launch(leaves bool) (id string, err error)
	// jobs returns the jobs that have not ended; an error says that it is not known.
	jobs(ctx context.Context) (map[string]Job, error)
	cancel(id string)
}

// An adapter follows the demand with jobs.
type adapter struct {
	min, max, cores int
	limit           time.Duration
	budget          float64 // core hours; 0 is no bound
	launcher        launcher
	demand          func() int
	note            func(text string)

	jobs  map[string]*adapted
	spent float64       // core hours of jobs that have ended
	shown atomic.Uint64 // the bits of spent, for a table
	fails int
	pause time.Time // until when nothing is launched
}

// An adapted is a job of an adapter.
type adapted struct {
	launched, began time.Time // began is zero while it waits
	leaves          bool
}

func (a *adapter) run(ctx context.Context) {
	tick := time.NewTicker(adaptEvery)
	defer tick.Stop()
	for {
		a.step(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// hoursSpent returns the core hours of jobs that have ended.
func (a *adapter) hoursSpent() float64 { return math.Float64frombits(a.shown.Load()) }

// hours returns the core hours of a time.
func (a *adapter) hours(d time.Duration) float64 { return d.Hours() * float64(a.cores) }

// step compares the jobs with the demand.
func (a *adapter) step(ctx context.Context) {
	there, err := a.launcher.jobs(ctx)
	if err != nil { // to submit blindly could start any number
		a.note("the jobs are not known: " + err.Error())
		return
	}
	now := time.Now()
	staying, committed := 0, a.spent
	for id, j := range a.jobs {
		state, ok := there[id]
		if !ok || state.Ended {
			delete(a.jobs, id)
			if !j.began.IsZero() {
				used := a.hours(min(now.Sub(j.began), a.limit))
				a.spent += used
				a.shown.Store(math.Float64bits(a.spent))
				committed += used
			}
			if now.Sub(j.launched) < failedWithin {
				a.fails++
				a.pause = now.Add(min(failedPause<<min(a.fails, 10), mostPause))
				if a.fails >= 3 {
					a.note(fmt.Sprintf("%d jobs of workers have ended within a minute: their logs in the farm's folder may say why; the next is started after %v", a.fails, a.pause.Sub(now)))
				}
			} else {
				a.fails = 0
			}
			continue
		}
		if state.Running && j.began.IsZero() {
			j.began = now
		}
		committed += a.hours(a.limit)
		if !j.leaves {
			staying++
		}
	}
	wanted := max(a.min, min(a.max, (a.demand()+a.cores-1)/a.cores))
	for id, j := range a.jobs {
		if len(a.jobs) <= wanted {
			break
		}
		if j.began.IsZero() && j.leaves && now.Sub(j.launched) > adaptEvery {
			a.launcher.cancel(id)
			delete(a.jobs, id)
		}
	}
	for len(a.jobs) < wanted && !now.Before(a.pause) {
		if a.budget > 0 && committed+a.hours(a.limit) > a.budget {
			a.note(fmt.Sprintf("%d jobs would be of use, but %.4g of the %.4g core hours are used or promised, and a job may take %.4g", wanted, committed, a.budget, a.hours(a.limit)))
			return
		}
		leaves := staying >= a.min
		id, err := a.launcher.launch(leaves)
		if err != nil {
			a.fails++
			a.pause = now.Add(min(failedPause<<min(a.fails, 10), mostPause))
			a.note(err.Error())
			return
		}
		if !leaves {
			staying++
		}
		committed += a.hours(a.limit)
		a.jobs[id] = &adapted{launched: now, leaves: leaves}
	}
}

// batchLauncher launches jobs of a scheduler.
type batchLauncher struct {
	f *Farm
	b Batch
	s *scheduler
}

func (l *batchLauncher) launch(leaves bool) (string, error) {
	b := l.b
	b.Jobs = 1
	if !leaves {
		b.Idle = 0
	}
	ids, err := submit(b, l.f.s.Command, l.f.join, l.f.s.Dir)
	if len(ids) == 0 {
		return "", err
	}
	return number(ids[0]), nil // a job that is not recorded runs all the same
}

func (l *batchLauncher) jobs(ctx context.Context) (map[string]Job, error) {
	ctx, cancel := context.WithTimeout(ctx, submitPatience)
	defer cancel()
	jobs, err := l.s.list(ctx, nil)
	out := map[string]Job{}
	for _, j := range jobs {
		out[number(j.ID)] = j
	}
	return out, err
}

func (l *batchLauncher) cancel(id string) { cancelIDs(l.b.Scheduler, []string{id}) }

// processes launches workers on this machine.
type processes struct {
	f     *Farm
	b     Batch
	limit time.Duration
}

func (l *processes) launch(leaves bool) (string, error) {
	idle := time.Duration(0)
	if leaves {
		idle = l.b.Idle
	}
	cmd, err := l.f.process(l.b.Cores, idle, l.limit)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

func (l *processes) jobs(context.Context) (map[string]Job, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	out := map[string]Job{}
	for _, c := range l.f.local {
		if !c.ended {
			id := strconv.Itoa(c.cmd.Process.Pid)
			out[id] = Job{ID: id, State: "RUNNING", Running: true}
		}
	}
	return out, nil
}

func (l *processes) cancel(id string) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	for _, c := range l.f.local {
		if !c.ended && strconv.Itoa(c.cmd.Process.Pid) == id {
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// A localWorker is a worker process that a farm has started.
type localWorker struct {
	cmd   *exec.Cmd
	ended bool // guarded by the farm's mu
}
