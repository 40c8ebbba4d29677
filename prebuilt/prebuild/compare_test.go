package prebuild

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

// keep builds Scale, and lists what came of it. Change may change an entry before it is listed.
func keep(t *testing.T, job *Job, change func(e *cache.Entry)) (kept []Kept) {
	t.Helper()
	job.Load, job.Specs = loader(source), []record.Spec{scale("float32")}
	w, err := job.Run(t.Context())
	require.NoError(t, err)
	b, err := bundle.Parse("b", string(built(t, w)))
	require.NoError(t, err)
	items, err := b.Manifest()
	require.NoError(t, err)
	for _, it := range items {
		e, err := b.Get(it.Target, it.Key)
		require.NoError(t, err)
		if change != nil {
			change(e)
		}
		kept = append(kept, Kept{Key: it.Key, Header: e.Header, Read: func() (*cache.Entry, error) { return e, nil }})
	}
	return kept
}

// results lists the verdicts that are not Same, as kind, target, result and reason.
func results(list []Verdict) (out []string) {
	for _, v := range list {
		if v.Result != Same {
			out = append(out, strings.Join([]string{v.Kind, v.Target, v.Result, v.Why}, " "))
		}
	}
	return out
}

func TestCompare(t *testing.T) {
	wide := targets(t, "cpu", "cpu:x86-64-v3", "ptx:sm_80", "hip:gfx942", "msl:3.0", "opencl:1.2")
	only := func(kind, target string, change func(e *cache.Entry)) func(e *cache.Entry) {
		return func(e *cache.Entry) {
			if e.Kind == kind && e.Target == target && e.Build == "" {
				change(e)
			}
		}
	}
	edited := strings.Replace(source, "*= 2", "*= 3", 1)
	for name, c := range map[string]struct {
		change func(e *cache.Entry)
		load   front.Loader
		want   []string // parts of the verdicts, one for each
	}{
		"good":    {},
		"comment": {load: loader(strings.Replace(source, "Scale doubles.", "Edited.", 1))},
		"code": {
			change: only(cache.KindArtifact, "ptx:sm_80", func(e *cache.Entry) { e.Body = []byte(strings.Replace(string(e.Body), "mul", "add", 1)) }),
			want:   []string{"artifact ptx:sm_80 differs other bytes from "},
		},
		"cut": {
			change: only(cache.KindArtifact, "msl:3.0", func(e *cache.Entry) { e.Body = e.Body[:50] }),
			want:   []string{"artifact msl:3.0 differs other bytes from 50 on, of 50; compiled again they are "},
		},
		"arguments": {
			change: only(cache.KindArtifact, "hip:gfx942", func(e *cache.Entry) { e.Meta = []byte(`{"Kernel":"other"}`) }),
			want:   []string{"artifact hip:gfx942 differs its header has …"},
		},
		"build": {
			change: only(cache.KindArtifact, "cpu", func(e *cache.Entry) { e.Build = "checked" }),
			want:   []string{`artifact cpu differs its header says build "checked", compiled again it is ""`},
		},
		"positions": {
			change: only(cache.KindSource, "", func(e *cache.Entry) { e.Body[2] ^= 1 }),
			want:   []string{"source  differs other bytes from 2 on, "},
		},
		"another kernel": {
			change: only(cache.KindSource, "", func(e *cache.Entry) {
				e.Meta = []byte(strings.Replace(string(e.Meta), `"ir":"`, `"ir":"0`, 1))
			}),
			want: []string{"source  differs its header has …"},
		},
		"older": {
			change: only(cache.KindArtifact, "ptx:sm_80", func(e *cache.Entry) { e.Tool = "kiln 1" }),
			want:   []string{"artifact ptx:sm_80 not compared made by kiln 1, this is kiln " + compiler.Version},
		},
		"kind": {
			change: only(cache.KindArtifact, "ptx:sm_80", func(e *cache.Entry) { e.Kind = cache.KindMachine }),
			want:   []string{`differs its header says kind "machine", compiled again it is "artifact"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := results(compared(t, wide, c.change, c.load))
			require.Len(t, got, len(c.want), "%q", got)
			for i, want := range c.want {
				require.Contains(t, got[i], want)
			}
		})
	}
	for name, c := range map[string]struct {
		change func(e *cache.Entry)
		load   front.Loader
		want   string
	}{
		"edited":  {load: loader(edited), want: "made of other source than is here"},
		"absent":  {load: func(string) (*front.Package, error) { return nil, errors.New("no such package") }, want: "source unknown: no such package"},
		"earlier": {change: only(cache.KindSource, "", func(e *cache.Entry) { e.Meta = []byte(`{"ir":"00"}`) }), want: "did not note what it was made of"},
		"no source": {change: only(cache.KindSource, "", func(e *cache.Entry) { e.Kind, e.Kernel = cache.KindArtifact, "k.Other" }),
			want: "no source entry leads to it"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range compared(t, wide, c.change, c.load) {
				require.Equal(t, Uncompared, v.Result)
				require.Contains(t, v.Why, c.want)
				require.False(t, v.Bad())
			}
		})
	}
}

// compared is what came of entries for some targets that were changed, or whose source was.
func compared(t *testing.T, wide []target.Target, change func(e *cache.Entry), load front.Loader) []Verdict {
	job := &Job{Targets: wide}
	kept := keep(t, job, change)
	if load != nil {
		job.Load = load
	}
	list, err := job.Compare(t.Context(), kept)
	require.NoError(t, err)
	require.Len(t, list, len(kept))
	return list
}

// What cannot be read is damaged, and a kernel that the compiler refuses differs.
func TestCompareFails(t *testing.T) {
	job := &Job{Targets: targets(t, "cpu")}
	kept := keep(t, job, nil)
	for i := range kept {
		kept[i].Read = func() (*cache.Entry, error) { return nil, errors.New("cut") }
	}
	list, err := job.Compare(t.Context(), kept)
	require.NoError(t, err)
	for _, v := range list {
		require.Equal(t, Damaged, v.Result)
		require.Equal(t, "cut", v.Why)
		require.True(t, v.Bad())
	}
	require.Empty(t, Specs(kept))

	spec := record.Spec{Kernel: "k.None"}
	req, err := spec.Request()
	require.NoError(t, err)
	key, err := artifact.SourceKey(req, job.Load)
	require.NoError(t, err)
	src := artifact.Source{IR: "0"}
	e, err := src.Entry("k.None", spec.String())
	require.NoError(t, err)
	kept = []Kept{{Key: key, Header: e.Header, Read: func() (*cache.Entry, error) { return e, nil }}}
	require.Equal(t, []record.Spec{{Kernel: "k.None"}}, Specs(kept))
	list, err = job.Compare(t.Context(), kept)
	require.NoError(t, err)
	require.Equal(t, Differs, list[0].Result)
	require.Contains(t, list[0].Why, "compiling it again fails: ")
}

// Machine code is compared where the tool is that made it.
func TestCompareAssembled(t *testing.T) {
	t.Setenv("KILN_PTXAS", tooltest.Find(t, "KILN_PTXAS", "ptxas"))
	job := &Job{Targets: targets(t, "ptx:sm_90")}
	var absent []error
	job.Tools, absent = Assemblers(job.Targets)
	require.Empty(t, absent)
	compare := func(kept []Kept) []string {
		list, err := job.Compare(t.Context(), kept)
		require.NoError(t, err)
		return results(list)
	}
	require.Empty(t, compare(keep(t, job, nil)))
	first := true
	kept := keep(t, job, func(e *cache.Entry) {
		if e.Kind == cache.KindMachine && first {
			first = false
			e.Body[len(e.Body)-1] ^= 1
		}
	})
	got := compare(kept)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "machine ptx:sm_90 differs other bytes from ")
	kept = keep(t, job, nil)
	job.Tools = nil
	got = compare(kept)
	require.Len(t, got, 2)
	require.Regexp(t, `machine code that ".*" made, which is not here`, got[0])
}

// What a driver made has a key that only it makes.
func TestCompareDriver(t *testing.T) {
	job := &Job{Targets: targets(t, "ptx:sm_90")}
	kept := keep(t, job, nil)
	e := &cache.Entry{Header: cache.Header{Kind: cache.KindMachine, Kernel: "k.Scale[float32]", Target: "ptx:sm_90", Tool: artifact.Tool}, Body: []byte("code")}
	kept = append(kept, Kept{Key: artifact.MachineKey(kept[0].Key, "a GPU"), Header: e.Header, Read: func() (*cache.Entry, error) { return e, nil }})
	list, err := job.Compare(t.Context(), kept)
	require.NoError(t, err)
	require.Equal(t, []string{"machine ptx:sm_90 not compared machine code that a driver made, which only the same driver makes again"}, results(list))
}
