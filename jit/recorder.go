package jit

import (
	"sync"

	"github.com/gokiln/kiln/internal/record"
)

// recorder writes what a program uses of its kernels to the file of KILN_RECORD.
type recorder struct {
	sync.Mutex
	file string
	done bool // it cannot be written
	have record.Set
}

func newRecorder(file string) *recorder {
	if file == "" {
		return nil
	}
	return &recorder{file: file}
}

// remember records the specialisation that was resolved. The file is whole after every
// one: nothing tells a program that it is about to end.
func (r *resolver) remember() {
	rec := r.settings.record
	if rec == nil || r.way != nil {
		return
	}
	s := record.Of(r.req)
	s.Builds, s.Targets = []string{r.opts().Build()}, []string{r.tgt.String()}
	rec.Lock()
	defer rec.Unlock()
	if rec.done || !rec.have.Add(s) {
		return
	}
	rec.write(r.settings, &rec.have)
}

// rememberTuned records a choice. It is not kept for later: what another process has chosen since
// must not be undone.
func (s *settings) rememberTuned(c record.Choice) {
	rec := s.record
	if rec == nil {
		return
	}
	var one record.Set
	one.AddChoice(c)
	rec.Lock()
	defer rec.Unlock()
	if rec.done {
		return
	}
	rec.write(s, &one)
}

// write adds to the file.
func (rec *recorder) write(s *settings, add *record.Set) {
	if err := record.Update(rec.file, add); err != nil {
		rec.done = true
		s.log.Warn("KILN_RECORD not written", "err", err)
	}
}
