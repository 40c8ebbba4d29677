package ops_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/ops/sort/sorttest"
	"github.com/gokiln/kiln/runtime"
)

// TestSerialSorts tests sorts as on a CPU of many cores, where blocks have parts of a long row.
func TestSerialSorts(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 32, info.WarpSize })()
	suite.RunSorts(t, dev, share(3))
}

// TestCheckedSorts tests those of [TestSerialSorts] in checked mode, in a process of its own.
func TestCheckedSorts(t *testing.T) {
	if os.Getenv("KILN_CHECK") != "1" {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run=^TestCheckedSorts$")
		cmd.Env = append(os.Environ(), "KILN_CHECK=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	dev, err := runtime.Open("cpu:interp")
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 32, info.WarpSize })()
	sorttest.RunSortKeys(t, dev)
}
