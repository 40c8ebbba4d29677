package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/engine"
)

// TestAgree runs every kernel beside its twins on small sizes, on each engine.
func TestAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C: not in a -short run")
	}
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	for _, e := range engine.Engines {
		t.Run(e.Name, func(t *testing.T) {
			e.Need(t)
			var out, errs bytes.Buffer
			err := run([]string{"-small", "-isa", e.Name, "-rounds", "1", "-batch", "1us", "-clang", clang, "-only", strings.Join(names(), ",")}, &out, &errs)
			require.NoError(t, err, "%s%s", &out, &errs)
			for _, name := range names() {
				require.Contains(t, out.String(), "\n"+name+" ")
			}
		})
	}
}

// TestPlain runs the kernels that stand beside plain Go on small sizes, on each engine: results are
// the same to the last bit.
func TestPlain(t *testing.T) {
	for _, e := range engine.Engines {
		t.Run(e.Name, func(t *testing.T) {
			e.Need(t)
			var out, errs bytes.Buffer
			require.NoError(t, run([]string{"-plain", "-small", "-isa", e.Name, "-rounds", "1"}, &out, &errs), "%s%s", &out, &errs)
			for _, k := range plainCases {
				require.Contains(t, out.String(), "\n"+k.name+" ")
			}
		})
	}
}

// TestCompiles makes code for both levels of the processor, whichever this machine has.
func TestCompiles(t *testing.T) {
	for _, arch := range []string{"x86-64-v3", "x86-64-v4"} {
		tgt, err := target.Parse("cpu:" + arch)
		require.NoError(t, err)
		for _, req := range requests(config{}, tgt.WarpSize) {
			p, err := compiler.Front(req, compiler.Registered)
			require.NoError(t, err)
			art, err := p.Emit(tgt, compiler.Options{Strict: true})
			require.NoError(t, err, "%s for %s", req.Func, tgt)
			require.LessOrEqual(t, len(art.Code), 32<<10, "%s for %s", req.Func, tgt)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "Nothing"}, "no such case; there are Saxpy, SaxpyMemory"},
		{[]string{"-rounds", "0"}, "at least one round"},
		{[]string{"x"}, "flags only"},
		{[]string{"-clang", "no-such-compiler"}, "name another by -clang"},
	} {
		var out bytes.Buffer
		require.ErrorContains(t, run(c.args, &out, &out), c.want)
	}
}
