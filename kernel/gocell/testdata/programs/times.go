package main

import (
	"fmt"
	"time"
)

type Event struct {
	At   time.Time
	Name string
	Dur  time.Duration
}

func main() {
	t := time.Date(2024, time.February, 29, 13, 4, 5, 123456789, time.UTC)
	fmt.Println(t)
	fmt.Println(t.Format(time.RFC3339Nano), t.Format("Mon Jan _2 15:04:05 2006"), t.Format("02/01/06 03:04PM .000"))
	fmt.Println(t.Year(), t.Month(), t.Day(), t.Weekday(), t.YearDay(), t.Unix(), t.Nanosecond())
	u := t.AddDate(1, 0, 0).Add(36 * time.Hour)
	fmt.Println(u, u.Sub(t), u.After(t), t.Before(u), t.Equal(t.In(time.FixedZone("X", 3600))))
	fmt.Println(t.In(time.FixedZone("CET", 3600)).Format(time.RFC1123Z), t.Truncate(time.Hour), t.Round(time.Minute))
	d, err := time.ParseDuration("1h15m30.918s")
	fmt.Println(d, err, d.Hours() > 1, d.Round(time.Second), d.Truncate(time.Minute), d/2, int64(d/time.Second))
	p, err := time.Parse("2006-01-02 15:04", "2023-12-31 23:59")
	fmt.Println(p, err)
	_, err = time.Parse("2006-01-02", "2023-13-01")
	fmt.Println(err)
	e := Event{t, "ev", 90 * time.Second}
	fmt.Println(e)
	fmt.Printf("%v %+v %s %d\n", e, e, e.Dur, e.Dur)
	fmt.Println([]time.Duration{1, 1000, 1e9}, map[time.Month]int{time.May: 5}, time.Month(13), time.Weekday(2))
	var z time.Time
	fmt.Println(z.IsZero(), z, e == Event{t, "ev", 90 * time.Second})
	y, w := t.ISOWeek()
	fmt.Println(y, w, t.Add(-time.Since(t)).IsZero())
	const layout = time.Kitchen
	fmt.Println(t.Format(layout), time.Unix(0, 0).UTC(), time.UnixMilli(1700000000123).UTC())
	timer := time.NewTimer(time.Hour)
	fmt.Println(timer.Stop())
	start := time.Now()
	time.Sleep(2 * time.Millisecond)
	fmt.Println(time.Since(start) >= 2*time.Millisecond)
	switch m := t.Month(); {
	case m < time.March:
		fmt.Println("winter", m)
	}
}
