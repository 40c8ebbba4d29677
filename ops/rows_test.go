package ops_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/ops/conv/convtest"
	"github.com/gokiln/kiln/ops/elementwise/elementwisetest"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/ops/rows/rowstest"
	"github.com/gokiln/kiln/runtime"
)

// TestManyThreads tests what goes through rows as it does on devices whose units hold
// many threads: rows are shared by parts of warps and by blocks of several, and threads
// take many elements at once.
func TestManyThreads(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 4, 512 })()
	suite.RunRows(t, dev, share(16))
	elementwisetest.RunMany(t, dev, 4, someOf())
}

// TestNeighbours tests rows whose parts a warp joins at once, as machine code and, in a process
// of its own, in checked mode.
func TestNeighbours(t *testing.T) {
	name := "cpu"
	if os.Getenv("KILN_CHECK") == "1" {
		name = "cpu:interp"
	} else {
		t.Run("Checked", func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self, "-test.run=^TestNeighbours$")
			cmd.Env = append(os.Environ(), "KILN_CHECK=1")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
	dev, err := runtime.Open(name)
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 2, info.WarpSize })()
	suite.RunNeighbours(t, dev, someOf())
}

// TestColumns tests columns that blocks go down on devices of few units, and on the GPUs of this
// machine as if they had few.
func TestColumns(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			defer pretend.Be(func(info *runtime.Info) {
				info.Units, info.ThreadsPerUnit = 4, max(512, info.ThreadsPerUnit)
			})()
			opstest.Run(t, dev, []opstest.Group{{Name: "Columns", Run: rowstest.LongColumns}}, someOf())
		})
	}
}

// TestPatches tests windows as on devices that have fewer threads than there are results, so
// that each has several.
func TestPatches(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 1, 2*info.WarpSize })()
	opstest.Run(t, dev, []opstest.Group{{Name: "Windows", Run: convtest.Windows}}, someOf())
}
