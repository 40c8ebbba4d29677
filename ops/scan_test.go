package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/runtime"
)

// TestTiles tests scans and sorts as on devices whose blocks may wait for each other: they
// wait only for blocks that have begun, which one after the other do too.
func TestTiles(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit, info.Cooperative = 4, 512, true })()
	some := someOf()
	if some == opstest.Few() { // TestOps has every operation and type
		some = share(2)
	}
	suite.RunScans(t, dev, some)
	suite.RunSorts(t, dev, some)
}
