package prebuild

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/tests/sim/metal"
)

const source = `package k

import "github.com/gokiln/kiln/dsl"

// Scale doubles.
//
//kiln:kernel
func Scale[T dsl.Real](t dsl.Thread, x []T) {
	if i := t.Global(); i < len(x) {
		x[i] *= 2
	}
}

//kiln:kernel
func Wide(t dsl.Thread, x []float32) {
	s := dsl.Shared[[30000]float64](t)
	s[t.ThreadX()] = float64(x[0])
	t.Sync()
	x[0] = float32(s[0])
}
`

func loader(text string) front.Loader {
	return func(path string) (*front.Package, error) {
		if path != "k" {
			return nil, errors.New("no such package")
		}
		return &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
	}
}

func scale(t string) record.Spec {
	return record.Spec{Kernel: "k.Scale", Sig: "func(dsl.Thread, []" + t + ")"}
}

func targets(t *testing.T, names ...string) (out []target.Target) {
	for _, name := range names {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		out = append(out, tgt)
	}
	return out
}

func built(t *testing.T, w *bundle.Writer) []byte {
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

var all = []string{"cpu", "cpu:x86-64-v3", "cpu:x86-64-v4", "ptx:sm_70", "ptx:sm_90", "hip:gfx942", "msl:3.0", "opencl:1.2"}

// TestSameBytes builds in different orders, with different numbers of workers, and of source
// whose comments differ.
func TestSameBytes(t *testing.T) {
	specs := []record.Spec{scale("float32"), scale("float64")}
	var first []byte
	for i, text := range []string{source, source, strings.Replace(source, "Scale doubles.", "Scale is edited.", 1)} {
		job := Job{Load: loader(text), Specs: specs, Targets: targets(t, all[:7]...), Workers: 1 + 3*i}
		if i > 0 {
			job.Specs = []record.Spec{specs[1], specs[0], specs[1]}
		}
		w, err := job.Run(t.Context())
		for _, e := range unjoin(err) {
			require.ErrorContains(t, e, "msl:3.0: ") // has no float64
		}
		if first == nil {
			first = built(t, w)
		}
		require.Equal(t, first, built(t, w))
	}
	w, err := (&Job{Load: loader(strings.Replace(source, "*= 2", "*= 3", 1)), Specs: specs[:1], Targets: targets(t, "cpu")}).Run(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, built(t, w))
}

// TestSameBytesAtAnyTime builds with a clock that shows another year.
func TestSameBytesAtAnyTime(t *testing.T) {
	build := func(t *testing.T) []byte {
		job := Job{Load: loader(source), Specs: []record.Spec{scale("float32")}, Targets: targets(t, all...)}
		w, err := job.Run(t.Context())
		require.NoError(t, err)
		return built(t, w)
	}
	now, want := time.Now(), build(t)
	for _, later := range []time.Duration{0, 1234 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(later)
			require.Greater(t, time.Until(now), 10*365*24*time.Hour, "the clock is another one")
			require.Equal(t, want, build(t))
		})
	}
}

func unjoin(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return nil
}

// TestRefused checks that what cannot be compiled does not keep the rest from it.
func TestRefused(t *testing.T) {
	job := Job{
		Load:    loader(source),
		Specs:   []record.Spec{scale("float32"), {Kernel: "k.Wide"}, {Kernel: "k.None"}, {Kernel: "other.K"}},
		Targets: targets(t, "cpu", "ptx:sm_90"),
	}
	calls := 0
	job.Progress = func(done, all int, what string) {
		calls++
		require.LessOrEqual(t, done, all)
		require.NotEmpty(t, what)
	}
	w, err := job.Run(t.Context())
	require.Equal(t, 1+1+2, w.Len()-1, "Scale: source, IR, and two builds of PTX; and the source of Wide")
	errs := unjoin(err)
	require.Len(t, errs, 4)
	for i, want := range []string{"for cpu: k.Wide: needs 240000 bytes of shared memory", "for ptx:sm_90: k.Wide: needs 240000 bytes of shared memory", "None", "no such package"} {
		require.ErrorContains(t, errors.Join(errs...), want)
		var refused *Refused
		require.ErrorAs(t, errs[i], &refused)
	}
	require.Equal(t, 4*3, calls, "two builds for PTX, one for the CPU")
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&Job{Load: loader(source), Specs: []record.Spec{scale("float32")}, Targets: targets(t, "cpu")}).Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTargetsOfTheRecord(t *testing.T) {
	s := scale("float32")
	_, err := (&Job{Load: loader(source), Specs: []record.Spec{s}}).Run(t.Context())
	require.ErrorContains(t, err, "no target is asked for")
	s.Targets, s.Builds = []string{"ptx:sm_80"}, []string{"small", "checked"}
	w, err := (&Job{Load: loader(source), Specs: []record.Spec{s}}).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1+3, w.Len(), "small, none and checked")
	w, err = (&Job{Load: loader(source), Specs: []record.Spec{s}, Recorded: true}).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1+2, w.Len(), "small and checked")
	s.Builds = []string{"fast"}
	_, err = (&Job{Load: loader(source), Specs: []record.Spec{s}}).Run(t.Context())
	require.ErrorContains(t, err, `no property of launches is called "fast"`)
}

// TestMachineCode runs the assemblers of this machine twice.
func TestMachineCode(t *testing.T) {
	t.Setenv("KILN_PTXAS", tooltest.Find(t, "KILN_PTXAS", "ptxas"))
	t.Setenv("KILN_CLANG", tooltest.Find(t, "KILN_CLANG", "clang-19", "clang"))
	found, absent := Assemblers(targets(t, "ptx:sm_90", "hip:gfx942"))
	require.Empty(t, absent)
	var first []byte
	for _, dir := range []string{t.TempDir(), t.TempDir()} {
		t.Setenv("TMPDIR", dir)
		t.Setenv("TMP", dir)
		job := Job{Load: loader(source), Specs: []record.Spec{scale("float32")}, Targets: targets(t, "ptx:sm_90", "hip:gfx942"), Tools: found}
		w, err := job.Run(t.Context())
		require.NoError(t, err)
		if first == nil {
			first = built(t, w)
		}
		require.Equal(t, first, built(t, w))
	}
	b, err := bundle.Parse("b", string(first))
	require.NoError(t, err)
	items, err := b.Manifest()
	require.NoError(t, err)
	formats := map[string]int{}
	for _, it := range items {
		if it.Kind == cache.KindMachine {
			formats[it.Format]++
			e, err := b.Get(it.Target, it.Key)
			require.NoError(t, err)
			require.Equal(t, "\x7fELF", string(e.Body[:4]))
			require.Contains(t, it.Tool, "kiln ")
			require.Regexp(t, `\d+\.\d+`, it.Tool)
		}
	}
	require.Equal(t, map[string]int{"cubin": 2, "hsaco": 2}, formats)

	// A target that a tool does not know has its text.
	tgt := targets(t, "ptx:sm_90")
	tgt[0].Arch = "sm_1234"
	_, err = found[0].assemble(t.Context(), nil, tgt[0])
	require.ErrorIs(t, err, errUnknown)
}

// TestMetalLibraries is with a stand-in for Apple's compiler, which makes of each version of the
// language a library for the systems that have it.
func TestMetalLibraries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for Apple's compiler is a script for sh, which Windows does not have")
	}
	name := metal.Tool(t)
	t.Chdir(filepath.Dir(name))
	t.Setenv("KILN_METAL", "./"+filepath.Base(name)) // it runs elsewhere
	all := targets(t, "msl:2.4", "msl:3.0", "msl:3.1", "msl:3.2")
	found, absent := Assemblers(all)
	require.Empty(t, absent)
	job := Job{Load: loader(source), Specs: []record.Spec{scale("float32")}, Targets: all, Tools: found}
	w, err := job.Run(t.Context())
	require.NoError(t, err)
	b, err := bundle.Parse("b", string(built(t, w)))
	require.NoError(t, err)
	items, err := b.Manifest()
	require.NoError(t, err)
	made := map[string]string{}
	for _, it := range items {
		if it.Kind == cache.KindMachine {
			require.Equal(t, "metallib", it.Format)
			require.Contains(t, it.Tool, "Apple metal version 32023.1")
			e, err := b.Get(it.Target, it.Key)
			require.NoError(t, err)
			made[it.Target], _, _ = strings.Cut(string(e.Body), "\n")
		}
	}
	require.Equal(t, map[string]string{
		"msl:2.4": "simulated metallib 24", "msl:3.0": "simulated metallib 30",
		"msl:3.1": "simulated metallib 31", "msl:3.2": "simulated metallib 32",
	}, made)
	later := all[3]
	later.Arch, later.Version = "4.9", 49
	_, err = found[0].assemble(t.Context(), nil, later)
	require.ErrorIs(t, err, errUnknown)
}

// TestToolsComplain has tools that fail and say why.
func TestToolsComplain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tool is a script for sh, which Windows does not have")
	}
	dir := t.TempDir()
	tooltest.WriteProgram(t, filepath.Join(dir, "xcrun"), []byte("#!/bin/sh\necho 'unable to find utility \"metal\"' >&2; exit 72\n"))
	t.Setenv("PATH", dir)
	_, absent := Assemblers(targets(t, "msl:3.0"))
	require.ErrorContains(t, errors.Join(absent...), `no machine code of msl: xcrun -sdk macosx -find metal: exit status 72: unable to find utility "metal"; set KILN_METAL`)
	t.Setenv("KILN_METAL", filepath.Join(dir, "xcrun"))
	_, absent = Assemblers(targets(t, "msl:3.0"))
	require.ErrorContains(t, errors.Join(absent...), `xcrun --version: exit status 72: unable to find utility "metal"`)
}

func TestAbsentTools(t *testing.T) {
	t.Setenv("KILN_PTXAS", "no-such-assembler")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("KILN_CLANG", "")
	if runtime.GOOS != "windows" {
		found, absent := Assemblers(targets(t, "ptx:sm_90", "hip:gfx942"))
		require.Empty(t, found)
		found, none := Assemblers(targets(t, "cpu"))
		require.Empty(t, found)
		require.Empty(t, none)
		_, none = Assemblers(targets(t, "msl:3.0"))
		require.ErrorContains(t, errors.Join(none...), "no machine code of msl: xcrun -sdk macosx -find metal: ")
		require.ErrorContains(t, errors.Join(absent...), "no machine code of ptx: no no-such-assembler found; set KILN_PTXAS")
	}
}
