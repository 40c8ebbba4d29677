package jit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/prebuild"
)

// ship makes a bundle of Scale for targets, and has the rig look into it. Change may add
// entries.
func (g *rig) ship(change func(w *bundle.Writer, hash string), targets ...string) string {
	g.t.Helper()
	job := prebuild.Job{Specs: []record.Spec{{Kernel: "k.Scale", Consts: g.consts}}, Load: g.load}
	for _, name := range targets {
		tgt, err := target.Parse(name)
		require.NoError(g.t, err)
		job.Targets = append(job.Targets, tgt)
	}
	w, err := job.Run(g.t.Context())
	require.NoError(g.t, err)
	if change != nil {
		p, err := compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, g.load)
		require.NoError(g.t, err)
		change(w, p.Hash)
	}
	name := filepath.Join(g.t.TempDir(), "app"+BundleSuffix)
	require.NoError(g.t, w.WriteFile(name))
	g.env["KILN_BUNDLES"] = name
	return name
}

// machine adds machine code for a target, as an assembler would.
func machine(t *testing.T, name string) func(w *bundle.Writer, hash string) {
	return func(w *bundle.Writer, hash string) {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art := &compiler.Artifact{Meta: compiler.Meta{Kernel: "k.Scale", Entry: "Scale", Target: name, Format: "cubin"}, Code: []byte("assembled for " + name)}
		e, err := artifact.Entry(cache.KindMachine, art, compiler.Options{}, "ptxas")
		require.NoError(t, err)
		require.NoError(t, w.Add(artifact.MachineKey(artifact.CodeKey(hash, tgt, compiler.Options{}), artifact.Assembled), e))
	}
}

// A program that brings its kernels compiles nothing, with an empty cache.
func TestBundleOfThisTarget(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	g.ship(nil, "ptx:sm_90", "cpu:x86-64-v3")
	im := g.must("bundle", 0)
	require.Equal(t, compiler.FormatPTX, im.img.Format, "the driver compiles it as it loads")
	g.target, g.dev.key = "cpu:x86-64-v3", ""
	im = g.must("bundle", 0)
	require.Equal(t, compiler.FormatX86, im.img.Format)
	require.Contains(t, g.log.String(), "chosen")

	// Unless the program may write, and keeps what the driver made.
	g.env["KILN_JIT"], g.target, g.dev.key = "auto", "ptx:sm_90", "sm_90 driver 1"
	require.Equal(t, "cubin", g.must("bundle", 1).img.Format)
	g.must("cache", 1)
	g.env["KILN_JIT"] = "off"
	g.must("compiled", 2)
}

// The order is: machine code for the device, for its family, text for it, older text.
func TestBundleOrder(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	g.target = "ptx:sm_89"
	code := func() string { return string(g.must("bundle", 0).img.Code) }

	g.ship(nil, "ptx:sm_70", "ptx:sm_80")
	require.Contains(t, code(), ".target sm_80")
	g.ship(nil, "ptx:sm_89", "ptx:sm_80")
	require.Contains(t, code(), ".target sm_89")
	g.ship(machine(t, "ptx:sm_80"), "ptx:sm_89", "ptx:sm_80")
	require.Equal(t, "assembled for ptx:sm_80", code())
	g.ship(machine(t, "ptx:sm_89"), "ptx:sm_89", "ptx:sm_80")
	require.Equal(t, "assembled for ptx:sm_89", code())
	g.ship(machine(t, "ptx:sm_70"), "ptx:sm_80")
	require.Contains(t, code(), ".target sm_80", "machine code of another major version does not run")
}

func TestNotPrebuilt(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	_, _, err := g.resolve()
	require.ErrorIs(t, err, ErrNotPrebuilt)
	require.ErrorContains(t, err, "no bundle is part of the program, beside it, or in KILN_BUNDLES")

	name := g.ship(nil, "ptx:sm_100", "cpu")
	_, _, err = g.resolve()
	require.ErrorIs(t, err, ErrNotPrebuilt)
	require.ErrorContains(t, err, "bundle "+name+": has this kernel for cpu, ptx:sm_100 only")
	require.ErrorContains(t, err, os.Getenv("KILN_CACHE_DIR"))

	// The error has the command that builds what is missing.
	_, after, _ := strings.Cut(err.Error(), "kiln prebuild -target ptx:sm_90 -spec '")
	text, _, _ := strings.Cut(after, "'")
	spec, err := record.Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, "k.Scale", spec.Kernel)

	g.ship(nil, "ptx:sm_90", "cpu")
	g.must("bundle", 0)
	g.source = strings.Replace(scaleSource, "*= 2", "*= 3", 1)
	_, _, err = g.resolve()
	require.ErrorIs(t, err, ErrNotPrebuilt)
	require.ErrorContains(t, err, "has k.Scale, k.Scale (small,aligned,disjoint) for this target")
	require.ErrorContains(t, err, "built of other source")
}

// A stale bundle costs time and nothing else: what was built of other source, or by another
// version of the compiler, is passed over, and the kernel is compiled.
func TestStaleBundles(t *testing.T) {
	g := newRig(t)
	g.target, g.dev.key = "cpu", "" // whose code shows what it was compiled from
	g.ship(nil, "cpu")
	shipped := g.must("bundle", 0)
	g.source = strings.Replace(scaleSource, "*= 2", "*= 3", 1)
	require.NotEqual(t, shipped.img.Code, g.must("compiled", 0).img.Code)

	t.Setenv("KILN_CACHE_DIR", t.TempDir())
	g.source = scaleSource
	g.ship(func(w *bundle.Writer, _ string) { w.Compiler = "another" }, "cpu")
	g.log.Reset()
	require.Equal(t, shipped.img.Code, g.must("compiled", 0).img.Code)
	require.Contains(t, g.log.String(), "made by version another of the compiler")
}

// What cannot be used is reported, and kernels are compiled.
func TestBadBundles(t *testing.T) {
	g := newRig(t)
	name := g.ship(nil, "ptx:sm_90")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, c := range []struct {
		data []byte
		mode os.FileMode
		want string
	}{
		{data[:len(data)/2], 0o600, "it was cut"},
		{[]byte("something else"), 0o600, "it does not begin with"},
		{damaged(t, data), 0o600, "bundle damaged"},
		{bytes.Replace(data, []byte(`"compiler":"`+compiler.Version), []byte(`"compiler":"x`), 1), 0o600, "header"},
	} {
		t.Setenv("KILN_CACHE_DIR", t.TempDir())
		g.log.Reset()
		require.NoError(t, os.WriteFile(name, c.data, c.mode))
		g.must("compiled", g.dev.calls+1)
		require.Contains(t, g.log.String(), c.want)
	}
	require.NoError(t, os.WriteFile(name, data, 0o600))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(name, 0o666))
		g.log.Reset()
		t.Setenv("KILN_CACHE_DIR", t.TempDir())
		g.must("compiled", g.dev.calls+1)
		require.Contains(t, g.log.String(), "can be written by everybody")
	}
}

// damaged changes the entries of the last section, and leaves its index.
func damaged(t *testing.T, data []byte) []byte {
	b, err := bundle.Parse("b", string(data))
	require.NoError(t, err)
	sections := b.Header().Sections
	last := sections[len(sections)-1]
	out := slices.Clone(data)
	for i := range last.Size - last.Index.Size {
		out[int64(len(out))-1-i] ^= 1
	}
	return out
}

func TestTrust(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	name := g.ship(nil, "ptx:sm_90")
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	g.env["KILN_TRUST"] = base64.StdEncoding.EncodeToString(public)
	_, _, err = g.resolve()
	require.ErrorContains(t, err, "not signed by a trusted key")
	require.NoError(t, bundle.Rewrite(name, func(string) bool { return true }, key))
	g.must("bundle", 0)
	g.env["KILN_TRUST"] = "nonsense"
	_, _, err = g.resolve()
	require.ErrorContains(t, err, "KILN_TRUST: nonsense is neither")
}

// A directory stands for the bundles in it.
func TestBundleDirectory(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	first := g.ship(nil, "ptx:sm_80")
	second := g.ship(nil, "ptx:sm_90")
	require.NoError(t, os.Rename(first, filepath.Join(filepath.Dir(second), "b"+BundleSuffix)))
	g.env["KILN_BUNDLES"] = filepath.Dir(second)
	require.Contains(t, string(g.must("bundle", 0).img.Code), ".target sm_90")
	g.env["KILN_BUNDLES"] = "none"
	_, _, err := g.resolve()
	require.ErrorContains(t, err, "KILN_BUNDLES: stat none")
}

// What a run records is what has to be built for it.
func TestRecordThenBuild(t *testing.T) {
	g := newRig(t)
	g.env["KILN_RECORD"] = filepath.Join(t.TempDir(), "kernels.txt")
	for _, tgt := range []string{"ptx:sm_90", "ptx:sm_80"} {
		g.target = tgt
		s := g.settings()
		r := g.resolver(s)
		_, err := r.best(compiler.Small)
		require.NoError(t, err)
		r.remember()
		r.remember()
	}
	var set record.Set
	require.NoError(t, set.Load(g.env["KILN_RECORD"]))
	require.Equal(t, []record.Spec{{Kernel: "k.Scale", Builds: []string{"small"}, Targets: []string{"ptx:sm_80", "ptx:sm_90"}}}, set.Specs())

	w, err := (&prebuild.Job{Specs: set.Specs(), Load: g.load}).Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1+2*2, w.Len(), "the source, and two builds for each target")
}
