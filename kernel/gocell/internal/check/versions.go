package check

import "go/types"

// Version returns the version of a module that packages were fetched from, or
// "".
func (m *Importer) Version(path string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sp := range m.fetched {
		if sp.Module.Path == path {
			return sp.Module.Version
		}
	}
	return ""
}

// Forget drops what all sessions share of the fetched packages.
func (m *Importer) Forget() {
	sources.Range(func(p, sp any) bool {
		if sp.(*FetchedPackage).by == m {
			sources.Delete(p.(*types.Package))
		}
		return true
	})
}
