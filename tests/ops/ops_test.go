package ops_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/sim"
)

// TestMain has tests run in more goroutines than there are cores: they wait for a compiler
// that takes many kernels at a time.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "32"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	sim.Main(m)
}

func TestROCm(t *testing.T) {
	for i, arch := range []string{"gfx1100", "gfx942"} {
		t.Run(arch, func(t *testing.T) {
			if arch == "gfx942" {
				tooltest.Sweep(t, "gfx1100")
			}
			sim.QuickROCm(t)
			run(t, sim.OpenROCm(t, arch), 3*i)
		})
	}
}

func TestMetal(t *testing.T) {
	sim.QuickMetal(t)
	run(t, sim.OpenMetal(t), 5, dtype.F64)
}

// turns is how many shares the parts are divided into, of which each device runs one.
func turns() int {
	switch {
	case tooltest.Whole():
		return 23
	case tooltest.Sweeps():
		return 59
	}
	return 199
}

// run tests all parts, or a share, with all types but some.
func run(t *testing.T, dev *runtime.Device, first int, without ...dtype.DType) {
	share := opstest.OneOf(first, turns())
	if os.Getenv("KILN_OPSTEST") == "all" {
		share = opstest.All()
	}
	suite.Run(t, dev, share, without...)
}
