package compiler_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/devlog"
)

// Checked code is valid after each pass, has no trap, reports what it found by the
// log, and is what NVIDIA's assembler takes.
func TestCheckedCode(t *testing.T) {
	reqs := append([]front.Request{{Pkg: kernels, Func: "Fault"}, {Pkg: kernels, Func: "FaultAll"}, {Pkg: kernels, Func: "Cursors"}}, instances...)
	for _, name := range []string{"ptx:sm_75", "ptx:sm_90"} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		ptxas := dump.PTXAS(tgt)
		if ptxas == nil && os.Getenv("KILN_REQUIRE_TOOLS") != "" {
			t.Fatal("no ptxas in the path, and KILN_PTXAS names none")
		}
		for _, req := range reqs {
			art, err := program(t, req).Emit(tgt, compiler.Options{Checked: true, After: func(pass string, m *ir.Module) {
				assert.NoError(t, ir.Verify(m), "%s after %s", req.Func, pass)
			}})
			require.NoError(t, err)
			assert.NotContains(t, string(art.Code), "trap")
			if ptxas != nil {
				log, err := ptxas(art)
				require.NoError(t, err, "%s: %s", req.Func, log)
			}
		}
	}
}

// Every kind of failure of the kernel Fault has a site on a GPU, with its position.
func TestCheckedSites(t *testing.T) {
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	p := program(t, front.Request{Pkg: kernels, Func: "Fault"})
	art, err := p.Emit(sm90, compiler.Options{Checked: true})
	require.NoError(t, err)
	require.NotNil(t, art.Log)
	found := map[devlog.Check]bool{}
	for _, s := range art.Log.Sites {
		found[s.Check] = true
		assert.True(t, s.Fails)
		assert.Len(t, s.Values, devlog.FailureValues)
		assert.Contains(t, p.Positions[s.Pos-1].File, "kernels/fault.go")
	}
	for c := range devlog.Assert + 1 {
		assert.Contains(t, found, c)
	}

	plain, err := p.Emit(sm90, compiler.Options{})
	require.NoError(t, err)
	require.Len(t, plain.Log.Sites, 1, "the assertion is in all code")
	assert.Equal(t, devlog.Assert, plain.Log.Sites[0].Check)
	assert.NotEqual(t, compiler.Options{}.Key(), compiler.Options{Checked: true}.Key())

	cpu, err := p.Emit(target.CPU, compiler.Options{Checked: true})
	require.NoError(t, err)
	assert.Nil(t, cpu.Log, "the interpreter reports failures itself")
	assert.True(t, strings.HasPrefix(string(cpu.Code), "module \""+cpu.Kernel+"\"\nchecked\n"))
}
