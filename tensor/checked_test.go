package tensor_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// TestChecked runs cases and sequences of operations in checked mode, which finds races and reads of
// unset shared memory, with blocks of several warps. The checks are chosen when a process
// launches its first kernel, so that the test starts itself again with them. A sweep runs all cases
// and more sequences.
func TestChecked(t *testing.T) {
	if os.Getenv("KILN_CHECK") != "1" {
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run=^TestChecked$", "-test.short="+strconv.FormatBool(testing.Short()))
		cmd.Env = append(os.Environ(), "KILN_CHECK=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	each, sequences := 8, 10
	switch {
	case tooltest.Sweeps():
		each, sequences = 1, 200
	case testing.Short():
		each, sequences = 40, 5
	}
	defer pretend.Be(func(info *runtime.Info) { info.Units, info.ThreadsPerUnit = 1, 2*info.WarpSize })()
	d, err := tensor.Open("cpu:interp") // which runs checked code
	require.NoError(t, err)
	defer d.Close()
	for _, n := range slices.Sorted(maps.Keys(cases)) {
		if n%each == 0 {
			runCase(t, d, n, strconv.Itoa(n))
		}
	}
	runSequences(t, d, sequences, 1)

	// Rows that several warps share.
	x := tensor.Ones(d, tensor.F32, 3, 3000)
	c := &caseTest{t, d}
	c.is(x.Sum(1), tensor.Shape{3}, 3000, 3000, 3000)
	c.is(x.CumSum(1).Max(1), tensor.Shape{3}, 3000, 3000, 3000)
	c.near(4, x.Softmax(1).Sum(1), 1, 1, 1)
	c.is(x.MatMul(tensor.Ones(d, tensor.F32, 3000, 2)), tensor.Shape{3, 2}, 3000, 3000, 3000, 3000, 3000, 3000)
}
