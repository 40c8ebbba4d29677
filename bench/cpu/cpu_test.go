package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
