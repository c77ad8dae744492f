package all

import (
	"testing"

	"dace.local/kernel/gocell/symbols/api"
	"dace.local/kernel/gocell/symbols/dace"
)

func TestFresh(t *testing.T) {
	t.Parallel()
	if sum, err := api.Sum("../../../..", own()); err != nil || sum != dace.Sum {
		t.Errorf("the tables are not those of the source: go generate ./... (%v)", err)
	}
}
