package prebuilt_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/commonops"
	_ "github.com/gokiln/kiln/prebuilt/cpu"
	_ "github.com/gokiln/kiln/prebuilt/cuda"
	"github.com/gokiln/kiln/prebuilt/prebuild"
	"github.com/gokiln/kiln/tensor"
)

// allEnv asks for everything to be compiled again, and to be what the bundles have.
const allEnv = "KILN_PREBUILT"

// build is the command that the messages name.
const build = "run go generate ./prebuilt/... and commit what it writes"

// packages has a row for each package with a bundle.
var packages = []struct {
	dir, file string
	targets   []string
	recorded  bool // see prebuild.Job
	used      bool // each kernel is for the targets that it was used for, and no others
	limit     int  // bytes of the bundle: docs/deployment.md says how large they are
}{
	{"cpu", "zz_prebuilt_cpu.kiln", []string{"cpu:x86-64-v3", "cpu:x86-64-v4"}, false, true, 1450 << 10},
	{"cuda", "zz_prebuilt_nvidia.kiln", []string{"ptx:sm_80", "ptx:sm_90a"}, true, false, 1100 << 10},
}

// TestMain sees to it that no kernel comes from a cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kiln-prebuilt-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"KILN_BUNDLES", "KILN_JIT", "KILN_CHECK", "KILN_TRUST", "KILN_RECORD"} {
		os.Unsetenv(name)
	}
	os.Setenv("KILN_CACHE_DIR", filepath.Join(dir, "cache"))
	code := tooltest.Run(m)
	os.RemoveAll(dir)
	os.Exit(code)
}

// open returns the bundle of a package and what it should have been made of, a job for each
// target.
func open(t *testing.T, i int) (*bundle.Bundle, []*prebuild.Job) {
	t.Helper()
	p := packages[i]
	b, err := bundle.Open(filepath.Join(p.dir, p.file))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	var set record.Set
	require.NoError(t, set.Load(filepath.Join(p.dir, "kernels.txt")))
	var jobs []*prebuild.Job
	for _, name := range p.targets {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		job := &prebuild.Job{Load: compiler.Registered, Recorded: p.recorded, Targets: []target.Target{tgt}}
		for _, s := range set.Specs() {
			if !p.used || slices.Contains(s.Targets, name) {
				job.Specs = append(job.Specs, s)
			}
		}
		jobs = append(jobs, job)
	}
	return b, jobs
}

// Each bundle is whole, is for the targets of its package, has an entry for the source of each
// kernel of the record, and is no larger than the documents say.
func TestBundles(t *testing.T) {
	for i, p := range packages {
		t.Run(p.dir, func(t *testing.T) {
			b, jobs := open(t, i)
			require.NoError(t, b.Verify())
			var set record.Set
			require.NoError(t, set.Load(filepath.Join(p.dir, "kernels.txt")))
			entries := map[string]int{}
			for _, s := range b.Header().Sections {
				entries[s.Target] = s.Entries
			}
			require.Len(t, entries, 1+len(p.targets), "%v: %s", entries, build)
			require.Equal(t, len(set.Specs()), entries[bundle.Common], "kernels of the record have no source in the bundle, or others do: %s", build)
			fresh := staleness(b, jobs) == nil
			for k, name := range p.targets {
				require.GreaterOrEqual(t, entries[name], len(jobs[k].Specs), "%s: %s", name, build)
				require.True(t, !fresh || len(jobs[k].Specs) > 200, "the record has %d kernels for %s: %s", len(jobs[k].Specs), name, build)
			}
			info, err := os.Stat(filepath.Join(p.dir, p.file))
			require.NoError(t, err)
			require.Less(t, info.Size(), int64(p.limit), "the bundle has grown: raise the limit and docs/deployment.md, or cut variants (bench/variants)")
		})
	}
}

// What the bundles have is what the compiler makes. With KILN_PREBUILT=all that is looked at for
// everything, and what is stale is a fault; without it, for what a sample has of kernels that
// did not change.
func TestFresh(t *testing.T) {
	all := os.Getenv(allEnv) == "all"
	for i, p := range packages {
		t.Run(p.dir, func(t *testing.T) {
			b, jobs := open(t, i)
			for _, job := range jobs {
				if !all {
					job.Specs = sample(job.Specs)
				}
			}
			stale := staleness(b, jobs)
			if stale != nil && !all {
				t.Logf("the bundle is stale, which costs programs time: %v; %s", stale, build)
				return
			}
			require.NoError(t, stale, "the bundle is stale: %s", build)
			for _, job := range jobs {
				requireSame(t, b, job)
			}
		})
	}
}

// staleness says what a bundle does not have of what it should, such as kernels that changed
// since it was built, or of which the record has parameters that are gone.
func staleness(b *bundle.Bundle, jobs []*prebuild.Job) error {
	for _, job := range jobs {
		gaps, err := job.Check(b)
		if err == nil && len(gaps) > 0 {
			err = fmt.Errorf("%d gaps for %d kernels, such as %+v", len(gaps), len(job.Specs), gaps[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sample takes one of 64 specialisations, each time the same ones.
func sample(specs []record.Spec) (list []record.Spec) {
	for _, s := range specs {
		if sum := sha256.Sum256([]byte(s.String())); sum[0] < 4 {
			list = append(list, s)
		}
	}
	return list
}

// requireSame compiles what a job is for, and requires that the bundle has the same entries.
func requireSame(t *testing.T, b *bundle.Bundle, job *prebuild.Job) {
	t.Helper()
	w, err := job.Run(t.Context())
	require.NoError(t, err)
	made, err := bundle.Parse("made", text(t, w))
	require.NoError(t, err)
	items, err := made.Manifest()
	require.NoError(t, err)
	require.NotEmpty(t, items)
	for _, it := range items {
		want, err := made.Get(it.Target, it.Key)
		require.NoError(t, err)
		have, err := b.Get(it.Target, it.Key)
		require.NoError(t, err, "%s for %s: %s", it.Kernel, it.Target, build)
		require.True(t, string(want.Body) == string(have.Body) && string(want.Meta) == string(have.Meta),
			"the bundle has other code of %s for %s than the compiler makes: %s", it.Kernel, it.Target, build)
	}
}

// The common operations find all of their kernels in the program, where that is fresh, on
// processors of both levels. Whatever is not there is compiled.
func TestOperations(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("the bundle has code for amd64")
	}
	b, jobs := open(t, 0)
	stale := staleness(b, jobs)
	cases := commonops.Cases()
	if stale != nil {
		cases = cases[:1] // which is compiled
	}
	for _, name := range []string{"cpu:avx2", "cpu:avx2-record", "cpu:avx512-record", "cpu:amx-record"} {
		t.Run(name, func(t *testing.T) {
			d, err := tensor.Open(name)
			if err != nil {
				t.Skip(err)
			}
			defer d.Close()
			found := map[string]int{}
			var missing []string
			defer jit.OnResolve(func(e jit.Event) {
				if found[e.Source]++; e.Source != "bundle" {
					missing = append(missing, e.Kernel)
				}
			})()
			for _, c := range cases {
				require.NoError(t, c.Run(d), c.Name)
			}
			require.NoError(t, d.Synchronize())
			require.NotEmpty(t, found)
			if os.Getenv(allEnv) == "all" || stale == nil {
				require.Empty(t, missing, "kernels of common operations that the bundle does not have: %s", build)
			}
		})
	}
}

// text is a bundle as its file has it.
func text(t *testing.T, w *bundle.Writer) string {
	t.Helper()
	var out strings.Builder
	_, err := w.WriteTo(&out)
	require.NoError(t, err)
	return out.String()
}
