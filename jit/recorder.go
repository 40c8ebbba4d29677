package jit

import (
	"sync"

	"github.com/gokiln/kiln/jit/record"
)

// recorder writes what a program uses of its kernels to the file of KILN_RECORD.
type recorder struct {
	sync.Mutex
	file string
	done bool // it cannot be written
	to   *record.Writer
}

func newRecorder(file string) *recorder {
	if file == "" {
		return nil
	}
	return &recorder{file: file, to: record.NewWriter(file)}
}

// remember records the specialisation that was resolved. The file has every one
// at once: a program is not notified that it is about to end.
func (r *resolver) remember() {
	rec := r.settings.record
	if rec == nil || r.way != nil {
		return
	}
	s := record.Of(r.req)
	s.Builds, s.Targets = []string{r.opts().Build()}, []string{r.tgt.String()}
	rec.Lock()
	defer rec.Unlock()
	if !rec.done {
		rec.wrote(r.settings, rec.to.Add(s))
	}
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
	if !rec.done {
		rec.wrote(s, record.Update(rec.file, &one))
	}
}

// wrote says once that the file cannot be written.
func (rec *recorder) wrote(s *settings, err error) {
	if err != nil {
		rec.done = true
		s.log.Warn("KILN_RECORD not written", "err", err)
	}
}
