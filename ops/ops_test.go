package ops_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/runtime"
)

// devices are the engines of the CPU and the GPUs of this machine, one of each kind.
func devices() []string {
	names, kinds := []string{"cpu", "cpu:interp"}, map[string]bool{"cpu": true}
	for _, d := range runtime.Devices() {
		if !kinds[d.Kind] {
			names, kinds[d.Kind] = append(names, d.Name), true
		}
	}
	return names
}

// without is the types that no device of a kind computes with.
func without(dev *runtime.Device) []dtype.DType {
	return map[string][]dtype.DType{"metal": {dtype.F64}}[dev.Info().Kind]
}

// interpreted is how many times fewer parts the interpreter runs than machine code does, unless
// KILN_OPSTEST is all: it takes as long as all others, and is compared with them elsewhere, too.
const interpreted = 3

// whole reports whether all parts are tested. Otherwise tests that run operations on a CPU once
// more, as if it were another device, take a share of the parts, which their names decide.
func whole() bool { return tooltest.Sweeps() || os.Getenv("KILN_OPSTEST") == "all" }

// share is all parts, or the second of n shares of them.
func share(n int) opstest.Share {
	if whole() {
		return opstest.All()
	}
	return opstest.OneOf(1, n)
}

// TestOps tests every operation on the engines of the CPU and on the GPUs of this machine,
// one of each kind. With KILN_SWEEP=all every operation is tested on the CPU with every type.
func TestOps(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			if name == "cpu" || name == "cpu:interp" {
				if !whole() {
					suite.RunSome(t, dev)
					return
				}
			}
			if name == "cpu:interp" && os.Getenv("KILN_OPSTEST") != "all" {
				suite.RunShare(t, dev, 1, interpreted)
				return
			}
			suite.RunAll(t, dev, without(dev)...)
		})
	}
}
