package llvm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ir/irtest"
	"github.com/gokiln/kiln/internal/tooltest"
)

// TestEveryOpHasARow is the completeness test of the instruction table.
func TestEveryOpHasARow(t *testing.T) {
	for op := range ir.Ops {
		if why, ok := unsupported[op]; ok {
			require.NotEmpty(t, why)
			continue
		}
		if why, ok := coded[op]; ok {
			require.NotEmpty(t, why)
			continue
		}
		uses := irtest.Lowered(op)
		switch op {
		case ir.OpLoad, ir.OpStore, ir.OpBounds, ir.OpBarrier, ir.OpWarpBarrier, ir.OpFence, ir.OpFenceBlock,
			ir.OpCopyAsync, ir.OpCopyVec, ir.OpCopyCommit, ir.OpCopyWait, ir.OpCopyGroups, ir.OpMMA, ir.OpLoadMatrix:
			continue // below, and TestTiles
		}
		require.NotEmpty(t, uses, "no uses known of %s", op)
		for _, d := range []*dialect{dialectWave32, dialectWave64, dialectNVPTX} {
			for _, u := range uses {
				v := &ir.Value{Op: op, Type: u.T, Imm: u.Imm}
				for _, a := range u.Args {
					v.Args = append(v.Args, &ir.Value{Type: a})
				}
				_, err := d.choose(v, 0, false)
				require.NoError(t, err, "%s %v", d.triple, u.Args)
			}
		}
	}
}

// TestSweep gives LLVM every operation, in one module for an architecture.
func TestSweep(t *testing.T) {
	for _, arch := range arches {
		for name, last := range irtest.Constants {
			t.Run(arch+"/"+name, func(t *testing.T) {
				if name != "variable" || arch != "gfx1100" && arch != "sm_90" {
					tooltest.Sweep(t, "every operation on variables for gfx1100 and sm_90")
				}
				k := irtest.New()
				for op := range ir.Ops {
					for _, u := range irtest.Lowered(op) {
						k.Use(u, last(k))
					}
				}
				irtest.MemoryOps(k)
				if mustTarget(t, arch).CopiesAsync() {
					irtest.Copies(k)
				}
				text, err := Emit(k.Finish(t), mustTarget(t, arch))
				require.NoError(t, err)
				verify(t, text)
				if name == "variable" || name == "eight" {
					assemble(t, arch, text)
				}
			})
		}
	}
}
