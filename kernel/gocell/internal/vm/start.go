package vm

// Go runs f in a goroutine of the cell; see Cell.Lasts.
func (m *Machine) Go(f func()) {
	c := m.Cell()
	c.others.Add(1)
	go func() {
		defer c.others.Add(-1)
		f()
	}()
}

// CompiledGoroutine notes that compiled code of this goroutine's cell has started so many
// goroutines; -1 says that this one ends.
func (m *Machine) CompiledGoroutine(n int32) {
	if c := m.Cell(); c != nil {
		c.others.Add(n)
	}
}
