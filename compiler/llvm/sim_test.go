package llvm

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/sim/onhost"
)

// launch runs the kernel called name for every thread of c and returns the buffers.
func launch(t *testing.T, lib *onhost.Library, name string, c irconf.Case, together bool) [][]byte {
	var pin runtime.Pinner
	defer pin.Unpin()
	got := make([][]byte, len(c.Bufs))
	for i, b := range c.Bufs {
		memory := make([]uint64, len(b)/8+2)
		pin.Pin(&memory[0])
		got[i] = unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), len(b))
		copy(got[i], b)
	}
	args := c.Pack(func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(got[i])))) })
	require.NoError(t, lib.Run(name, c.Grid, c.Block, args, together), c.Name)
	return got
}

var (
	waiting = regexp.MustCompile(`^(barrier|warpbarrier|shfl\..*|ballot|any|all)$`)
	warps   = regexp.MustCompile(`^(warpbarrier|lane|warp|warpsize|shfl\..*|ballot|any|all)$`)
	// Scalar operations are written the same in all dialects, these aside.
	scalarName = regexp.MustCompile(`^[a-z0-9.]+\(.*\)`)
	ownRows    = regexp.MustCompile(`^(permute|approx)`)
)

// uses reports whether m has an operation whose name matches.
func uses(m *ir.Module, name *regexp.Regexp) bool {
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			if name.MatchString(v.Op.String()) {
				return true
			}
		}
	}
	return false
}

// TestSimulation runs the programs of irconf, which are written for warps of 32
// threads; with 64, those that do not depend on it and some of its own.
func TestSimulation(t *testing.T) {
	t.Run("wave32", func(t *testing.T) {
		runAll(t, "gfx1100", irconf.Cases(), func(irconf.Case, *ir.Module) bool { return true })
	})
	t.Run("wave64", func(t *testing.T) {
		tooltest.Sweep(t, "waves of 32 lanes")
		runAll(t, "gfx942", append(irconf.Cases(), wideCases()...), func(c irconf.Case, m *ir.Module) bool {
			return !scalarName.MatchString(c.Name) && (!uses(m, warps) || strings.HasPrefix(c.Name, "wide"))
		})
	})
	t.Run("nvptx", func(t *testing.T) {
		runAll(t, "sm_90", irconf.Cases(), func(c irconf.Case, _ *ir.Module) bool {
			return !scalarName.MatchString(c.Name) || ownRows.MatchString(c.Name)
		})
	})
}

func runAll(t *testing.T, arch string, all []irconf.Case, wanted func(irconf.Case, *ir.Module) bool) {
	tgt := mustTarget(t, arch)
	var texts []string
	var cases []irconf.Case
	var together []bool
	for _, c := range all {
		m := parse(t, c.Text)
		if !wanted(c, m) {
			continue
		}
		m.Kernel().Name = fmt.Sprintf("case%d", len(cases))
		text, err := Options{Host: true}.Emit(m, tgt)
		require.NoError(t, err, c.Name)
		texts, cases, together = append(texts, text), append(cases, c), append(together, uses(m, waiting))
	}
	lib := onhost.For(t, Join(texts), tgt.WarpSize)
	for i, c := range cases {
		if err := c.Check(launch(t, lib, fmt.Sprintf("case%d", i), c, together[i])); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d cases", len(cases))
}
