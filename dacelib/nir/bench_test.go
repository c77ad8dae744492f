package nir

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time of this process so far: what a busy
// machine does not distort much.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func BenchmarkStep(b *testing.B) {
	for _, bc := range []struct {
		name string
		s    Settings
	}{
		{"B=256", Settings{Batch: 256}},
		{"B=64", Settings{Batch: 64}},
		{"gorgonia/B=256", Settings{Batch: 256, Gorgonia: true}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := bc.s
			s.Samples, s.Steps = 5000, 1<<30
			var data []Data
			for _, p := range oneMaxes(5, 30) {
				d, err := SampleData(bg, p, s.Samples, 1)
				if err != nil {
					b.Fatal(err)
				}
				data = append(data, d)
			}
			s = s.withDefaults(30)
			t, err := newTrainer(newModel(make([]string, 5), s), data, s)
			if err != nil {
				b.Fatal(err)
			}
			start := cpuTime()
			for b.Loop() {
				if _, err := t.takeStep(1e-3); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime()-start).Seconds()*1e3/float64(b.N), "cpu-ms/step")
			b.ReportMetric(float64(5*s.Batch*b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
