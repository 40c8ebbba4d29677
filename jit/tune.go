package jit

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/runtime"
)

// Tuner does some work in the fastest of several configurations, which it finds out by measuring
// them: sizes of tiles and blocks, elements for each thread, one algorithm or another.
//
//	var transposed = jit.Tune("example.com/app/transpose",
//		kernels.Config{Tile: 16}, kernels.Config{Tile: 32}, kernels.Config{Tile: 64})
//
//	func Transpose(s *runtime.Stream, out, in runtime.Slice[float32], n, m int) error {
//		return transposed.Run(s, func(c kernels.Config) error {
//			return kernels.LaunchTranspose(s, grid(n, m, c), out, in, n, m, c)
//		}, n, m)
//	}
//
// The first Run for a device and for what the choice depends on measures; its choice is kept in the
// cache, so that other processes do not measure again, and written to the record of KILN_RECORD, of
// which kiln prebuild takes it into bundles. A choice that is kept holds for the same name,
// configurations and model of device. The environment variable KILN_TUNE says when to measure.
//
// A Tuner is safe for use by several goroutines; one measures at a time, and what others do on the
// device meanwhile disturbs it.
type Tuner[C any] struct {
	name    string
	configs []C
	texts   []string
	asked   bool // measures only where it is asked to: see OnRequest
	err     error

	chosen atomic.Pointer[map[tunedFor]int] // replaced by a larger one
	mu     sync.Mutex
	on     atomic.Pointer[runtime.Stream] // where it measures now
	clock  func(s *runtime.Stream, work func() error) (time.Duration, error)
	env    func() (*settings, error)
}

// maxAt is how many numbers a choice can depend on.
const maxAt = 8

// tunedFor is what a choice is for. A device that was closed is not kept by its name.
type tunedFor struct {
	dev string
	n   int
	at  [maxAt]int
}

// Tune returns a Tuner. Its name tells its choices from those of others, so it is best made of an
// import path and a word. Where nothing may be measured the first configuration is taken, so that
// should be one that does well everywhere. Configurations are told apart by what fmt prints of them
// with %+v.
func Tune[C any](name string, configs ...C) *Tuner[C] {
	t := &Tuner[C]{name: name, configs: slices.Clone(configs), clock: onDevice, env: environment}
	for _, c := range configs {
		text := fmt.Sprintf("%+v", c)
		if slices.Contains(t.texts, text) {
			t.err = fmt.Errorf("jit.Tune(%q): two configurations are %s", name, text)
		}
		t.texts = append(t.texts, text)
	}
	if name == "" || len(configs) == 0 {
		t.err = fmt.Errorf("jit.Tune(%q) with %d configurations: want a name and one or more", name, len(configs))
	}
	return t
}

// OnRequest has the tuner measure only where KILN_TUNE is all, and take its first configuration
// where neither a bundle nor the cache has a choice: for a library whose first configuration is a
// rule that does well. Call it before the first Run.
func (t *Tuner[C]) OnRequest() *Tuner[C] {
	t.asked = true
	return t
}

// Known returns the configuration that was chosen before in this process, if one was. It costs a
// lookup and allocates nothing.
func (t *Tuner[C]) Known(s *runtime.Stream, at ...int) (c C, ok bool) {
	if t.err != nil || s == nil || len(at) > maxAt {
		return c, false
	}
	key := tunedFor{dev: s.Device().Name(), n: len(at)}
	copy(key.at[:], at)
	i, ok := t.known(key)
	if ok {
		c = t.configs[i]
	}
	return c, ok
}

// Run calls work with the best configuration. At is what the best one depends on besides the
// device, up to eight numbers such as sizes: for each combination it is measured anew, so that
// sizes which vary a lot are better rounded, to powers of two for example.
//
// To measure, Run calls work with every configuration, many times, and in the end once with the
// best. So work has to come to the same each time: it must not change what it reads, and has to
// submit what it does to the stream s. A configuration for which it returns an error is not chosen.
// While a stream captures nothing is measured, and neither if the Tuner is measuring on that
// stream: work may run the Tuner for a part of itself.
func (t *Tuner[C]) Run(s *runtime.Stream, work func(C) error, at ...int) error {
	i, err := t.best(s, work, at)
	if err != nil {
		return err
	}
	return work(t.configs[i])
}

// Best is Run without the last call of work: it returns the configuration.
func (t *Tuner[C]) Best(s *runtime.Stream, work func(C) error, at ...int) (C, error) {
	i, err := t.best(s, work, at)
	if err != nil {
		var none C
		return none, err
	}
	return t.configs[i], nil
}

// best finds the number of the best configuration.
func (t *Tuner[C]) best(s *runtime.Stream, work func(C) error, at []int) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	if len(at) > maxAt {
		return 0, fmt.Errorf("tuner %s: the choice depends on %d numbers, at most %d", t.name, len(at), maxAt)
	}
	if s == nil {
		return 0, fmt.Errorf("tuner %s: nil stream", t.name)
	}
	if len(t.configs) == 1 {
		return 0, nil
	}
	key := tunedFor{dev: s.Device().Name(), n: len(at)}
	copy(key.at[:], at)
	if i, ok := t.known(key); ok {
		return i, nil
	}
	return t.choose(s, work, key)
}

// known looks a choice up, and allocates nothing.
func (t *Tuner[C]) known(key tunedFor) (int, bool) {
	m := t.chosen.Load()
	if m == nil {
		return 0, false
	}
	i, ok := (*m)[key]
	return i, ok
}

// learn adds a choice; t.mu is held.
func (t *Tuner[C]) learn(key tunedFor, i int) {
	m := map[tunedFor]int{key: i}
	if have := t.chosen.Load(); have != nil {
		maps.Copy(m, *have)
	}
	t.chosen.Store(&m)
}

// choose finds a choice that is kept, or makes one.
func (t *Tuner[C]) choose(s *runtime.Stream, work func(C) error, key tunedFor) (int, error) {
	env, err := t.env()
	if err != nil {
		return 0, err
	}
	c, err := t.question(s.Device(), key)
	if err != nil {
		return 0, err
	}
	if t.on.Load() == s {
		return env.near(c), nil // to wait could be to wait for itself
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.known(key); ok {
		return i, nil
	}
	i, ok := env.tuned(c)
	switch {
	case ok:
	case !env.tunes(t.asked):
		i = env.near(c)
	case s.Capturing():
		return env.near(c), nil // until there is a stream to measure on
	default:
		if i, err = t.measure(s, work, env, c); err != nil {
			return 0, fmt.Errorf("tuner %s: %w", t.name, err)
		}
	}
	t.learn(key, i)
	return i, nil
}

// question says what is to be chosen.
func (t *Tuner[C]) question(dev *runtime.Device, key tunedFor) (record.Choice, error) {
	tgt, err := targetOf(dev)
	if err != nil {
		return record.Choice{}, err
	}
	info := dev.Info()
	model := info.Model
	if model == "" {
		model = info.Kind
	}
	return record.Choice{Tuned: t.name, At: slices.Clone(key.at[:key.n]), Device: fmt.Sprintf("%s, %d units", model, info.Units), Target: tgt.String(), Of: t.texts}, nil
}

// measure makes a choice and keeps it.
func (t *Tuner[C]) measure(s *runtime.Stream, work func(C) error, env *settings, c record.Choice) (int, error) {
	t.on.Store(s)
	defer t.on.Store(nil)
	start := time.Now()
	times, err := t.race(s, work)
	if err != nil {
		return 0, err
	}
	i := fastest(times)
	c.Best = t.texts[i]
	env.log.Info("tuned", "name", t.name, "at", fmt.Sprint(c.At), "device", c.Device, "best", c.Best, "times", listed(t.texts, times), "ms", millis(time.Since(start)))
	env.keepTuned(c)
	return i, nil
}

const (
	tuneRounds = 5
	tuneLeast  = 200 * time.Microsecond // of work for one measurement: an event is not exact to less than some µs
	tuneMost   = time.Second            // after which there is no further round
	tuneSlow   = 1.5                    // times the best time of a round: no further round for that configuration
	tuneGain   = 0.99                   // times the time of an earlier configuration: less is noise
)

// never is the time of a configuration that does not work.
const never = time.Duration(math.MaxInt64)

// race measures all configurations, in turns, so that what disturbs the device for a while disturbs
// all, and returns the least time of each.
func (t *Tuner[C]) race(s *runtime.Stream, work func(C) error) ([]time.Duration, error) {
	times, repeats := make([]time.Duration, len(t.configs)), make([]int, len(t.configs))
	var errs []error
	start := time.Now()
	for i, c := range t.configs {
		once := func() error { return work(c) }
		times[i] = never
		err := once() // compiles
		if err == nil {
			err = s.Sync()
		}
		var took time.Duration
		if err == nil {
			took, err = t.clock(s, once)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("configuration %s: %w", t.texts[i], err))
			continue
		}
		times[i], repeats[i] = took, int(min(1+tuneLeast/max(took, time.Microsecond), 100))
	}
	if len(errs) == len(t.configs) {
		return nil, errors.Join(errs...)
	}
	for round := 0; round < tuneRounds && (round == 0 || time.Since(start) < tuneMost); round++ {
		limit := never
		if round > 0 {
			limit = time.Duration(tuneSlow * float64(slices.Min(times)))
		}
		for i, c := range t.configs {
			if times[i] == never || times[i] > limit {
				continue
			}
			took, err := t.clock(s, func() error { return repeat(repeats[i], func() error { return work(c) }) })
			if err != nil {
				return nil, fmt.Errorf("configuration %s, after it had worked: %w", t.texts[i], err)
			}
			times[i] = min(times[i], took/time.Duration(repeats[i]))
		}
	}
	return times, nil
}

func repeat(n int, f func() error) error {
	for range n {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// fastest returns the first that none is faster than by more than what measuring is exact to.
func fastest(times []time.Duration) int {
	best := 0
	for i, d := range times {
		if float64(d) < tuneGain*float64(times[best]) {
			best = i
		}
	}
	return best
}

func listed(texts []string, times []time.Duration) string {
	list := make([]string, len(texts))
	for i := range texts {
		took := times[i].String()
		if times[i] == never {
			took = "fails"
		}
		list[i] = texts[i] + "=" + took
	}
	return strings.Join(list, " ")
}

// onDevice is the device's time for what work submits.
func onDevice(s *runtime.Stream, work func() error) (time.Duration, error) {
	from, err := s.Device().NewEvent()
	if err != nil {
		return 0, err
	}
	to, err := s.Device().NewEvent()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(s.Record(from), work(), s.Record(to), to.Sync()); err != nil {
		return 0, err
	}
	return to.Elapsed(from)
}

// tunes reports whether tuners may measure, those that have to be asked or the others.
func (s *settings) tunes(asked bool) bool {
	if asked {
		return s.tune == "all"
	}
	return s.tune != "off" && (s.mode != ReadOnly || s.tune == "again")
}

// tuned returns the choice that was kept, as the number of a configuration.
func (s *settings) tuned(c record.Choice) (int, bool) {
	if s.tune == "again" {
		return 0, false
	}
	key := artifact.TunedKey(c)
	e, from := s.shipped(bundle.Common, key)
	if e == nil {
		e, from = s.get(key), "cache"
	}
	i, ok := s.choice(e, c)
	if ok {
		s.debug("chosen", "kernel", c.Tuned, "kind", cache.KindTuned, "at", fmt.Sprint(c.At), "device", c.Device, "best", c.Of[i], "from", from)
		c.Best = c.Of[i]
		s.rememberTuned(c)
	}
	return i, ok
}

// near returns the choice that was made for another device of the target, or the first
// configuration.
func (s *settings) near(c record.Choice) int {
	c.Device = ""
	e, from := s.shipped(bundle.Common, artifact.TunedKey(c))
	i, ok := s.choice(e, c)
	if !ok {
		from = "nothing: the first"
	}
	s.debug("chosen", "kernel", c.Tuned, "kind", cache.KindTuned, "at", fmt.Sprint(c.At), "best", c.Of[i], "from", from)
	return i
}

// choice reads an entry, nil for none.
func (s *settings) choice(e *cache.Entry, c record.Choice) (int, bool) {
	if e == nil {
		return 0, false
	}
	kept, err := artifact.ReadTuned(e)
	i := slices.Index(c.Of, kept.Best)
	if err != nil || i < 0 {
		s.debug("entry unreadable", "kernel", c.Tuned, "err", err)
		return 0, false
	}
	return i, true
}

func (s *settings) keepTuned(c record.Choice) {
	s.put(artifact.TunedKey(c), artifact.TunedEntry(c))
	s.rememberTuned(c)
}
