package ops_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestTunedStrategies runs a product in three processes that share a cache: the first measures
// nothing, the second is asked to, and the third finds what the second chose.
func TestTunedStrategies(t *testing.T) {
	if os.Getenv("KILN_TEST_TUNED") != "" {
		product(t)
		return
	}
	dir := t.TempDir()
	run := func(tune string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTunedStrategies$")
		cmd.Env = append(os.Environ(), "KILN_TEST_TUNED=1", "KILN_CACHE_DIR="+dir, "KILN_LOG=debug", "KILN_TUNE="+tune)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	const name = `github.com/gokiln/kiln/ops/matmul`
	require.NotContains(t, run(""), "msg=tuned")
	measured := regexp.MustCompile(`msg=tuned name=` + name + ` .* best="?([^"]+?)"? times="[^"]*rule=`).FindStringSubmatch(run("all"))
	require.NotNil(t, measured, "KILN_TUNE=all measures")
	third := run("")
	require.NotContains(t, third, "msg=tuned")
	require.Regexp(t, `msg=chosen kernel=`+name+` .* best="?`+regexp.QuoteMeta(measured[1])+`"? from=cache`, third)
}

// product multiplies two matrices of ones.
func product(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	b := opstest.NewBench(dev)
	square := layout.Contiguous(layout.Shape{24, 24})
	ones := func() dtype.Scalar { return dtype.FromInt(dtype.F32, 1) }
	x, y, out := b.Value(t, dtype.F32, square, ones), b.Value(t, dtype.F32, square, ones), b.Result(t, dtype.F32, square)
	require.NoError(t, matmul.Matmul(b.Stream, out.View, x.View, y.View))
	for _, v := range b.Read(t, out) {
		require.Equal(t, 24.0, v.Float())
	}
}
