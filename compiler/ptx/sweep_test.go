package ptx

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
		case ir.OpLoad, ir.OpStore, ir.OpBounds, ir.OpBarrier, ir.OpWarpBarrier, ir.OpFence, ir.OpFenceBlock, ir.OpCopyAsync, ir.OpCopyCommit, ir.OpCopyWait, ir.OpCopyGroups,
			ir.OpMBarInit, ir.OpMBarArrive, ir.OpMBarExpect, ir.OpMBarTest, ir.OpWarpgroupFence, ir.OpWarpgroupCommit, ir.OpAsyncFence, ir.OpClusterSync:
			continue // below, and TestTiles
		}
		require.NotEmpty(t, uses, "no uses known of %s", op)
		for _, tgt := range ptxTargets() {
			for _, u := range uses {
				v := &ir.Value{Op: op, Type: u.T, Imm: u.Imm}
				for _, a := range u.Args {
					v.Args = append(v.Args, &ir.Value{Type: a})
				}
				_, err := choose(v, tgt.CC, 0, false)
				require.NoError(t, err, "%s %v", tgt, u.Args)
			}
		}
	}
}

func TestSweep(t *testing.T) {
	for _, arch := range []string{"sm_70", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120"} {
		for name, last := range irtest.Constants {
			t.Run(arch+"/"+name, func(t *testing.T) {
				if name != "variable" && arch != "sm_90" {
					tooltest.Sweep(t, "every operation on variables for "+arch+", and on constants for sm_90")
				}
				tgt := mustTarget(t, arch)
				k := irtest.New()
				for op := range ir.Ops {
					for _, u := range irtest.Lowered(op) {
						k.Use(u, last(k))
					}
				}
				irtest.MemoryOps(k)
				if tgt.CopiesAsync() {
					irtest.Copies(k)
					irtest.MBarriers(k, tgt.CC >= 90)
				}
				text, err := Emit(k.Finish(t), tgt)
				require.NoError(t, err)
				assemble(t, arch, text)
			})
		}
	}
}
