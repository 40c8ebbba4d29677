package compiler_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// Copies to shared memory go on beside their threads where the target can, except in checked
// code, and are as wide as the launch allows.
func TestCopies(t *testing.T) {
	prog := program(t, front.Request{Pkg: kernels, Func: "Strips", TypeArgs: []string{"dsl.BF16"}, Consts: map[string]int64{"first": 0}})
	stages := program(t, front.Request{Pkg: kernels, Func: "Stages", TypeArgs: []string{"dsl.BF16"}, Consts: map[string]int64{"stages": 3, "first": 8}})
	emitted := func(prog *compiler.Program, name string, opt compiler.Options) string {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := prog.Emit(tgt, opt)
		require.NoError(t, err, name)
		return string(art.Code)
	}
	emit := func(name string, opt compiler.Options) string { return emitted(prog, name, opt) }
	wide := compiler.Options{Assume: compiler.Aligned}
	for _, c := range []struct {
		target string
		opt    compiler.Options
		copies int // of 16 bytes: at two addresses
		waits  bool
	}{
		{"ptx:sm_75", wide, 0, false},
		{"ptx:sm_80", wide, 2, true},
		{"ptx:sm_90", wide, 2, true},
		{"ptx:sm_90", compiler.Options{}, 0, true}, // halves of slices that begin anywhere
		{"ptx:sm_90", compiler.Options{Assume: compiler.Aligned, Disable: []string{"vectorize"}}, 0, true},
		{"ptx:sm_90", compiler.Options{Assume: compiler.Aligned, Checked: true}, 0, false},
	} {
		text := emit(c.target, c.opt)
		assert.Equal(t, c.copies, strings.Count(text, "cp.async.cg.shared.global"), "%+v", c)
		assert.Equal(t, c.waits, strings.Contains(text, "cp.async.wait_all;"), "%+v", c)
	}
	text := emitted(stages, "ptx:sm_90", wide)
	assert.Equal(t, 3, strings.Count(text, "cp.async.cg.shared.global"), text) // two in front of the loop
	assert.Equal(t, 3, strings.Count(text, "cp.async.commit_group;"), text)
	assert.Contains(t, text, "cp.async.wait_group 1;")
	for _, name := range []string{"cuda:sm_90", "hip:gfx942", "llvm:gfx942", "llvm:sm_90", "msl:3.0", "opencl:1.2", "amd64:avx2", "cpu"} {
		assert.NotEmpty(t, emit(name, wide), name)
		assert.NotEmpty(t, emitted(stages, name, wide), name)
	}
}
