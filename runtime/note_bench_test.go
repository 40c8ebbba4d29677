package runtime

import "testing"

// BenchmarkNote is what a launch pays so that errors belong to values.
func BenchmarkNote(b *testing.B) {
	r := ring{own: true}
	uses := []Use{{&Buffer{mem: &allocation{}}, Writes}, {&Buffer{mem: &allocation{}}, Reads}}
	b.ReportAllocs()
	for b.Loop() {
		t := touched{uses: uses}
		if r.full() {
			r.done(r.before())
		}
		_, s := r.note(&t, true, nil, nil)
		s.submit()
	}
}
