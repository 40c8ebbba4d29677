package msl_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
)

// lacks is what is said of a kernel that Metal cannot have: where, what, and what to do.
const lacks = `^msl: kernel kernel\d+: (\S+\.go:\d+: |parameter .*, which nothing uses: )?(.*f64.* is not available on msl:\S+: Metal has no 64-bit floats; use float32` +
	`|operation atomic\.\w+ is not available on msl:\S+: Metal has no 64-bit atomics on all devices; use 32-bit integers` +
	`|operation (fence|atomic\.\w+) is not available on msl:\S+: Metal has fences from version 3.2 on(, which order its atomic operations)?; hand values on between kernels)$`

// tooLarge is said of a kernel whose shared arrays are for other devices.
var tooLarge = regexp.MustCompile(`^msl: kernel kernel\d+: needs \d+ bytes of shared memory, msl:\S+ has 32768 for a block; use smaller dsl\.Shared arrays$`)

// traps are words that no text may have; see the package comment.
var traps = regexp.MustCompile(`max_total_threads_per_threadgroup|\bgoto\b|\bdouble\b|\bbfloat\s+\w|\(bfloat\)|\bfast::|atomic_u?long|metal::(exp|exp2|log|log2|sin|cos|tan|tanh|pow|sqrt|rsqrt)\b|math_mode\((fast|relaxed)\)`)

// longest is how many lines a kernel may have: bodies of tens of thousands are known to
// crash the compiler. Checked code, which is for finding mistakes, may have more: that of attention
// with all of its options at once has 10620.
const longest, longestChecked = 8000, 12000

// TestKernels compiles all kernels of this repository for each version of the language,
// and for the newest as checked code. Those with what Metal lacks are refused.
func TestKernels(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	all := everykernel.Programs(t)
	const versions = 4 // which take all kernels between them
	for i, c := range []struct {
		version string
		opt     compiler.Options
	}{{"2.4", everykernel.Fast}, {"3.0", everykernel.Fast}, {"3.1", everykernel.Fast}, {"3.2", everykernel.Fast}, {"3.2", everykernel.Checked}} {
		t.Run(fmt.Sprintf("%s checked=%t", c.version, c.opt.Checked), func(t *testing.T) {
			if c.version == "3.0" || c.version == "3.1" {
				tooltest.Sweep(t, "the oldest version and the newest")
			}
			tgt, err := target.Parse("msl:" + c.version)
			require.NoError(t, err)
			o := cfamily.Options{Disjoint: c.opt.Assume&compiler.Disjoint != 0}
			modules := everykernel.Modules(t, everykernel.Share(all, i, versions), tgt, c.opt)
			withoutDouble := 0 // kernels that do not need float64, compiled or refused
			have := slices.DeleteFunc(slices.Clone(modules), func(m *ir.Module) bool {
				_, err := msl.Language.Emit(m, tgt, o)
				if err == nil {
					withoutDouble++
					return false
				}
				if !tooLarge.MatchString(err.Error()) {
					require.ErrorIs(t, err, compiler.ErrUnsupported)
					require.Regexp(t, lacks, err.Error())
				}
				if !strings.Contains(err.Error(), "64-bit floats") {
					t.Log(err)
					withoutDouble++
				}
				return true
			})
			t.Logf("%d kernels, %d compile, %d do not need float64", len(modules), len(have), withoutDouble)
			least := 9 // tenths of what might compile; what covers all features has more that Metal lacks
			if !tooltest.Sweeps() {
				least = 8
			}
			require.Greater(t, 10*len(have), least*withoutDouble)
			text, err := msl.Language.EmitAll(have, tgt, o)
			require.NoError(t, err)
			require.NotRegexp(t, traps, text)
			most := longest
			if c.opt.Checked {
				most = longestChecked
			}
			for _, kernel := range strings.Split(text, "\nkernel void ")[1:] {
				name, _, _ := strings.Cut(kernel, "(")
				require.Less(t, strings.Count(kernel, "\n"), most, "lines of %s", name)
			}
			compiles(t, clang, c.version, text)
		})
	}
}
