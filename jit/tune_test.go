package jit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/prebuild"
	"github.com/gokiln/kiln/runtime"
)

type tile struct{ Side int }

// tuning is tests of tuners that have a clock of their own.
type tuning struct {
	*rig
	s     *runtime.Stream
	takes map[int]time.Duration // by side
	fails map[int]bool
	calls map[int]int // of work, by side
	all   int
	ran   int // the side of the last one
}

func newTuning(t *testing.T) *tuning {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return &tuning{
		rig: newRig(t), s: dev.DefaultStream(), calls: map[int]int{}, fails: map[int]bool{},
		takes: map[int]time.Duration{8: 9 * time.Millisecond, 16: 5 * time.Millisecond, 32: 7 * time.Millisecond, 64: 20 * time.Millisecond},
	}
}

// tuner returns one in a process of its own: it knows what is in the cache and in bundles.
func (g *tuning) tuner(configs ...tile) *Tuner[tile] {
	t := Tune("test/tiles", configs...)
	env := g.settings()
	t.env = func() (*settings, error) { return env, nil }
	t.clock = func(_ *runtime.Stream, work func() error) (time.Duration, error) {
		before := g.all
		err := work()
		return g.takes[g.ran] * time.Duration(g.all-before), err
	}
	return t
}

func (g *tuning) work(c tile) error {
	if g.fails[c.Side] {
		return errors.New("does not fit")
	}
	g.ran = c.Side
	g.calls[c.Side]++
	g.all++
	return nil
}

// best runs a tuner and returns what it ran last.
func (g *tuning) best(t *Tuner[tile], at ...int) int {
	g.t.Helper()
	clear(g.calls)
	require.NoError(g.t, t.Run(g.s, g.work, at...))
	return g.ran
}

var sides = []tile{{8}, {16}, {32}}

// once is the calls of work where nothing is measured.
func once(side int) map[int]int { return map[int]int{side: 1} }

func TestTune(t *testing.T) {
	g := newTuning(t)
	tu := g.tuner(sides...)
	require.Equal(t, 16, g.best(tu, 4096))
	for side, n := range g.calls {
		require.Greater(t, n, 2, "tile of %d was measured", side)
	}
	require.Less(t, g.calls[8], g.calls[16], "one that is much slower is given up")

	require.Equal(t, 16, g.best(tu, 4096))
	require.Equal(t, once(16), g.calls, "the choice is known")
	c, err := tu.Best(g.s, g.work, 4096)
	require.NoError(t, err)
	require.Equal(t, tile{16}, c)

	// Another size is another question, and another process finds the answer in the cache.
	g.takes[32] = time.Millisecond
	require.Equal(t, 32, g.best(tu, 8192))
	tu = g.tuner(sides...)
	require.Equal(t, 16, g.best(tu, 4096))
	require.Equal(t, once(16), g.calls)
	require.Equal(t, 32, g.best(tu, 8192))
	require.Equal(t, once(32), g.calls)

	// So is another list, and KILN_TUNE=again asks anew.
	require.Equal(t, 32, g.best(g.tuner(append(sides, tile{64})...), 4096))
	g.env["KILN_TUNE"] = "again"
	require.Equal(t, 32, g.best(g.tuner(sides...), 4096))
	g.env["KILN_TUNE"] = ""
	require.Equal(t, 32, g.best(g.tuner(sides...), 4096))
	require.Equal(t, once(32), g.calls, "the new choice was kept")
}

// A tuner that has to be asked takes what was measured before, or the first configuration.
func TestTuneOnRequest(t *testing.T) {
	g := newTuning(t)
	require.Equal(t, 8, g.best(g.tuner(sides...).OnRequest(), 4096))
	require.Equal(t, once(8), g.calls, "nobody asked")

	g.env["KILN_TUNE"] = "all"
	tu := g.tuner(sides...).OnRequest()
	_, ok := tu.Known(g.s, 4096)
	require.False(t, ok)
	require.Equal(t, 16, g.best(tu, 4096))
	require.Greater(t, len(g.calls), 1, "it was measured")
	c, ok := tu.Known(g.s, 4096)
	require.True(t, ok)
	require.Equal(t, tile{16}, c)
	require.Zero(t, testing.AllocsPerRun(10, func() { tu.Known(g.s, 4096) }))

	g.env["KILN_TUNE"] = ""
	require.Equal(t, 16, g.best(g.tuner(sides...).OnRequest(), 4096), "the cache has the choice")
	require.Equal(t, once(16), g.calls)
	require.Equal(t, 8, g.best(g.tuner(sides...).OnRequest(), 8192), "it has none for this size")
}

// A configuration that is hardly faster than an earlier one is noise.
func TestTuneNoise(t *testing.T) {
	g := newTuning(t)
	g.takes = map[int]time.Duration{8: 1000 * time.Microsecond, 16: 995 * time.Microsecond, 32: 980 * time.Microsecond}
	require.Equal(t, 32, g.best(g.tuner(sides...)))
	require.Equal(t, 8, g.best(g.tuner(sides[:2]...)))
}

func TestTuneFailures(t *testing.T) {
	g := newTuning(t)
	g.fails[16] = true
	require.Equal(t, 32, g.best(g.tuner(sides...)))
	g.fails[8], g.fails[32] = true, true
	err := g.tuner(sides...).Run(g.s, g.work, 1)
	require.ErrorContains(t, err, "tuner test/tiles: configuration {Side:8}: does not fit")
	require.ErrorContains(t, err, "configuration {Side:32}: does not fit")

	for want, bad := range map[string]*Tuner[tile]{
		"want a name and one or more":     g.tuner(),
		"two configurations are {Side:8}": g.tuner(tile{8}, tile{8}),
	} {
		require.ErrorContains(t, bad.Run(g.s, g.work), want)
	}
	require.ErrorContains(t, g.tuner(sides...).Run(g.s, g.work, 1, 2, 3, 4, 5, 6, 7, 8, 9), "depends on 9 numbers, at most 8")
	require.ErrorContains(t, g.tuner(sides...).Run(nil, g.work), "nil stream")
	_, err = readSettings(func(name string) string { return map[string]string{"KILN_TUNE": "perhaps"}[name] }, &g.log)
	require.ErrorContains(t, err, "KILN_TUNE=perhaps: want auto, off, again or all")
}

// Where nothing may be measured it is the first configuration.
func TestTuneOff(t *testing.T) {
	for name, value := range map[string]string{"KILN_TUNE": "off", "KILN_JIT": "readonly"} {
		g := newTuning(t)
		g.env[name] = value
		require.Equal(t, 8, g.best(g.tuner(sides...)))
		require.Equal(t, once(8), g.calls, "%s=%s", name, value)
	}
}

// A capture is not disturbed, and what was taken for it is not kept.
func TestTuneCapture(t *testing.T) {
	g := newTuning(t)
	tu := g.tuner(sides...)
	graph, err := g.s.Device().Capture(func(s *runtime.Stream) error { return tu.Run(s, g.work) })
	require.NoError(t, err)
	require.NoError(t, graph.Close())
	require.Equal(t, once(8), g.calls)
	require.Equal(t, 16, g.best(tu))
}

// Work may run the tuner, too: it takes the first configuration while it is measured. Of one
// configuration there is nothing to measure, and what panics leaves the tuner as it was.
func TestTuneNested(t *testing.T) {
	g := newTuning(t)
	tu := g.tuner(sides...)
	inner := 0
	require.NoError(t, tu.Run(g.s, func(c tile) error {
		part, err := tu.Best(g.s, g.work, 2048)
		inner = part.Side
		return errors.Join(err, g.work(c))
	}, 4096))
	require.Equal(t, 16, g.ran)
	require.Equal(t, 16, inner, "it is measured where the outer one is known")
	require.Equal(t, 16, g.best(tu, 4096))
	require.Equal(t, once(16), g.calls)

	require.Equal(t, 32, g.best(g.tuner(tile{32})))
	require.Equal(t, once(32), g.calls)

	tu = g.tuner(sides...)
	require.Panics(t, func() { _ = tu.Run(g.s, func(tile) error { panic("work") }, 1) })
	require.Equal(t, 16, g.best(tu, 1))
}

// What a run chose travels in its record and in the bundle that is made of that.
func TestTuneRecord(t *testing.T) {
	g := newTuning(t)
	name := filepath.Join(t.TempDir(), "kernels.txt")
	g.env["KILN_RECORD"] = name
	require.Equal(t, 16, g.best(g.tuner(sides...), 4096))
	var set record.Set
	require.NoError(t, set.Load(name))
	require.Len(t, set.Choices(), 1)
	c := set.Choices()[0]
	require.Equal(t, "{Side:16}", c.Best)
	require.Equal(t, []string{"{Side:8}", "{Side:16}", "{Side:32}"}, c.Of)

	// A process that finds the choice records it too.
	require.NoError(t, os.Remove(name))
	require.Equal(t, 16, g.best(g.tuner(sides...), 4096))
	require.NoError(t, set.Load(name))
	require.Equal(t, []record.Choice{c}, set.Choices())
	g.env["KILN_RECORD"] = ""

	// ship makes a bundle of choices, and a machine with nothing else.
	ship := func(choices ...record.Choice) string {
		w, err := (&prebuild.Job{Choices: choices}).Run(t.Context())
		require.NoError(t, err)
		name := filepath.Join(t.TempDir(), "app"+BundleSuffix)
		require.NoError(t, w.WriteFile(name))
		g.env["KILN_BUNDLES"], g.env["KILN_JIT"] = name, "readonly"
		t.Setenv("KILN_CACHE_DIR", filepath.Join(t.TempDir(), "empty"))
		return name
	}
	b, err := bundle.Open(ship(c))
	require.NoError(t, err)
	defer b.Close()
	require.Equal(t, 16, g.best(g.tuner(sides...), 4096))
	require.Equal(t, once(16), g.calls)
	require.Equal(t, 8, g.best(g.tuner(sides...), 1), "nobody knows")

	gaps, err := (&prebuild.Job{Choices: []record.Choice{c}}).Check(b)
	require.NoError(t, err)
	require.Empty(t, gaps)
	other, worse := c, c
	other.At, worse.Best = []int{1}, "{Side:8}"
	gaps, err = (&prebuild.Job{Choices: []record.Choice{other, worse}}).Check(b)
	require.NoError(t, err)
	require.Len(t, gaps, 2)
	require.Contains(t, gaps[0].Why, "has no choice at [1]")
	require.Contains(t, gaps[1].Why, "has {Side:16} at [4096]")

	// The choice of another model of this target is better than none, and measuring better than that.
	c.Device = "another model, 1 units"
	ship(c)
	require.Equal(t, 16, g.best(g.tuner(sides...), 4096))
	g.takes[32] = time.Millisecond
	g.env["KILN_JIT"] = "auto"
	require.Equal(t, 32, g.best(g.tuner(sides...), 4096))
}

// An entry that says something else is a miss.
func TestTuneDamage(t *testing.T) {
	g := newTuning(t)
	tu := g.tuner(sides...)
	require.Equal(t, 16, g.best(tu))
	env, err := tu.env()
	require.NoError(t, err)
	c, err := tu.question(g.s.Device(), tunedFor{})
	require.NoError(t, err)
	for _, body := range []string{`{"tuned":"test/tiles","target":"x","of":["{Side:99}"],"best":"{Side:99}"}`, `{"tuned":"test/tiles"}`, "{"} {
		e := artifact.TunedEntry(c)
		e.Body = []byte(body)
		require.NoError(t, env.store.Put(artifact.TunedKey(c), e))
		require.Equal(t, 16, g.best(g.tuner(sides...)))
		require.Greater(t, g.calls[16], 1, "it was measured again")
	}
}

// The real clock: the result is right, whatever was chosen, and a known choice costs nothing.
func TestTuneOnDevice(t *testing.T) {
	g := newTuning(t)
	tu := g.tuner(sides...)
	tu.clock = onDevice
	x, err := runtime.From(g.s.Device(), []float32{1, 2, 3})
	require.NoError(t, err)
	var last tile
	work := func(c tile) error {
		last = c
		return x.ZeroAsync(g.s)
	}
	require.NoError(t, tu.Run(g.s, work, 3))
	require.Contains(t, sides, last)
	got, err := x.Host()
	require.NoError(t, err)
	require.Equal(t, []float32{0, 0, 0}, got)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = tu.best(g.s, work, []int{3}) }))
}
