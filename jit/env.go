package jit

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler/code"
)

// Mode says what happens when a kernel is not in the cache.
type Mode string

// The modes; see KILN_JIT.
const (
	Auto     Mode = "auto"
	ReadOnly Mode = "readonly"
	Off      Mode = "off"
)

// settings are read from the environment once, at the first kernel.
type settings struct {
	mode    Mode
	options code.Options
	store   *cache.Store // nil with mode Off
	pages   selection    // kernels to write pages of
	log     *slog.Logger
	warned  sync.Once // about a cache that cannot be written

	bundles []*bundle.Bundle
	broken  error    // of bundles that are not used
	told    sync.Map // names of damaged ones
	record  *recorder
	tune    string // KILN_TUNE, see Tuner
}

func readSettings(getenv func(string) string, stderr io.Writer) (*settings, error) {
	s := &settings{mode: Mode(strings.ToLower(getenv("KILN_JIT"))), options: code.OptionsFromEnv(), pages: selected(getenv)}
	switch s.mode {
	case "":
		s.mode = Auto
	case Auto, ReadOnly, Off:
	default:
		return nil, fmt.Errorf("KILN_JIT=%s: want auto, readonly or off", s.mode)
	}
	if check := getenv("KILN_CHECK"); check != "" {
		on, err := strconv.ParseBool(check)
		if err != nil {
			return nil, fmt.Errorf("KILN_CHECK=%s: want 1 or 0", check)
		}
		s.options.Checked = on
	}
	switch s.tune = strings.ToLower(getenv("KILN_TUNE")); s.tune {
	case "", "auto", "off", "again", "all":
	default:
		return nil, fmt.Errorf("KILN_TUNE=%s: want auto, off, again or all", s.tune)
	}
	log, err := logger(getenv("KILN_LOG"), stderr)
	if err != nil {
		return nil, err
	}
	s.log = log
	s.record = newRecorder(getenv("KILN_RECORD"))
	if s.mode == Off {
		return s, nil
	}
	if s.store, err = cache.Open(cache.DefaultDir()); err != nil {
		s.warn(err)
	}
	if s.bundles, s.broken = openBundles(getenv); s.broken != nil {
		s.log.Warn("bundles not used", "err", s.broken)
	}
	return s, nil
}

// logger writes lines of key=value pairs, without time and level: they are read
// by people and compared by tests.
func logger(level string, w io.Writer) (*slog.Logger, error) {
	var min slog.Level
	switch strings.ToLower(level) {
	case "":
		min = slog.LevelWarn
	case "info":
		min = slog.LevelInfo
	case "debug":
		min = slog.LevelDebug
	default:
		return nil, fmt.Errorf("KILN_LOG=%s: want info or debug", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: min,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})), nil
}

// warn reports once that the cache cannot be used; kernels run all the same, where there
// is a compiler.
func (s *settings) warn(err error) {
	s.warned.Do(func() {
		msg := "kernel cache not usable"
		if compiles {
			msg += ", compiling in every process"
		}
		s.log.Warn(msg, "err", err)
	})
}

func (s *settings) get(key cache.Key) *cache.Entry {
	if s.store == nil {
		return nil
	}
	e, ok := s.store.Get(key)
	if !ok {
		return nil
	}
	return e
}

func (s *settings) put(key cache.Key, e *cache.Entry) {
	if s.store == nil || s.mode != Auto {
		return
	}
	if err := s.store.Put(key, e); err != nil {
		s.warn(err)
	}
}

// debugs reports whether somebody reads what debug says: to make up the words for nobody takes
// longer than to look for a kernel.
func (s *settings) debugs() bool { return s.log.Enabled(context.Background(), slog.LevelDebug) }

func (s *settings) debug(msg string, args ...any) {
	if s.debugs() {
		s.log.Debug(msg, args...)
	}
}

var environment = sync.OnceValues(func() (*settings, error) {
	return readSettings(os.Getenv, os.Stderr)
})
