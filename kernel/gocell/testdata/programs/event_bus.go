package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

type Event struct {
	Topic string
	Data  any
}
type Handler func(Event) error

type Bus struct {
	mu       sync.Mutex
	handlers map[string][]Handler
	log      []string
}

func (b *Bus) On(topic string, h Handler) (off func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers == nil {
		b.handlers = map[string][]Handler{}
	}
	b.handlers[topic] = append(b.handlers[topic], h)
	i := len(b.handlers[topic]) - 1
	return func() { b.handlers[topic][i] = nil }
}

func (b *Bus) Emit(topic string, data any) (errs []error) {
	for _, h := range b.handlers[topic] {
		if h == nil {
			continue
		}
		if err := h(Event{topic, data}); err != nil {
			errs = append(errs, err)
		}
	}
	return
}

func main() {
	var b Bus
	total := 0
	off := b.On("add", func(e Event) error { total += e.Data.(int); return nil })
	b.On("add", func(e Event) error {
		if n, ok := e.Data.(int); ok && n < 0 {
			return fmt.Errorf("negative %d", n)
		}
		return nil
	})
	b.On("say", func(e Event) error { b.log = append(b.log, strings.ToUpper(fmt.Sprint(e.Data))); return nil })
	fmt.Println(b.Emit("add", 5), b.Emit("add", -2), total)
	off()
	b.Emit("add", 100)
	b.Emit("say", "hi")
	b.Emit("say", 3.5)
	b.Emit("none", nil)
	fmt.Println(total, b.log, len(b.handlers))
	var topics []string
	for t := range b.handlers {
		topics = append(topics, t)
	}
	sort.Strings(topics)
	fmt.Println(topics)
}
