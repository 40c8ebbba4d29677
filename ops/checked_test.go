package ops_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/runtime"
)

// checkedParts is how many times fewer parts run in checked mode, but in sweeps.
const checkedParts = 32

// TestChecked tests operations in checked mode, which finds races and reads of unset shared
// memory, as on a device of one small multiprocessor: each block does several rows, tiles or
// products, so that a missing barrier between two of them is a race. The checks are chosen
// when a process launches its first kernel, so that the test starts itself again with them.
func TestChecked(t *testing.T) {
	if os.Getenv("KILN_CHECK") != "1" {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run=^TestChecked$", "-test.v="+strconv.FormatBool(testing.Verbose()), "-test.short="+strconv.FormatBool(testing.Short()))
		cmd.Env = append(os.Environ(), "KILN_CHECK=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	dev, err := runtime.Open("cpu:interp") // which runs checked code
	require.NoError(t, err)
	defer dev.Close()
	t.Run("Tickets", func(t *testing.T) {
		defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit, info.Cooperative = 4, 512, true })()
		suite.RunTickets(t, dev)
	})
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 1, 2*info.WarpSize })()
	defer ops.LimitBlocks(1)()
	suite.Run(t, dev, share(checkedParts))
}
