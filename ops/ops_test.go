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

func TestMain(m *testing.M) { os.Exit(tooltest.Run(m)) }

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

// ofInterpreter is the parts that the interpreter runs, unless KILN_OPSTEST is all: it takes as
// long as all others, and is compared with them elsewhere, too.
func ofInterpreter() opstest.Share {
	switch {
	case os.Getenv("KILN_OPSTEST") == "all":
		return opstest.All()
	case tooltest.Whole():
		return opstest.OneOf(1, 3)
	case tooltest.Sweeps():
		return opstest.OneOf(1, 8)
	}
	return opstest.OneOf(1, 64)
}

// whole reports whether all parts are tested. Otherwise tests that run operations on a CPU once
// more, as if it were another device, take a share of the parts, which their names decide.
func whole() bool { return tooltest.Whole() || os.Getenv("KILN_OPSTEST") == "all" }

// someOf is all parts, or such as have every operation and every type between them and a sixth of the
// shapes; in a sweep such as have all shapes, too, and a share of the others.
func someOf() opstest.Share {
	switch {
	case whole():
		return opstest.All()
	case tooltest.Sweeps():
		return opstest.SomeAnd(2, 4)
	case testing.Short():
		return opstest.OneOf(1, 32)
	}
	return opstest.Few()
}

// share is all parts, or the second of 3n shares of them, which are six times as large in a sweep.
func share(n int) opstest.Share {
	switch {
	case whole():
		return opstest.All()
	case tooltest.Sweeps():
		return opstest.OneOf(1, (n+1)/2)
	case testing.Short():
		return opstest.OneOf(1, 4*n)
	}
	return opstest.OneOf(1, 3*n)
}

// TestOps tests every operation on the engines of the CPU and on the GPUs of this machine,
// one of each kind. With KILN_SWEEP=all every operation is tested on the CPU with every type.
func TestOps(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			share := opstest.All()
			switch name {
			case "cpu":
				share = someOf()
			case "cpu:interp":
				share = ofInterpreter()
			}
			suite.Run(t, dev, share, without(dev)...)
		})
	}
}
