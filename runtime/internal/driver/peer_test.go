package driver

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// peerStream is a stream that records its calls; fail names what fails.
type peerStream struct {
	Stream
	name, fail string
	said       *[]string
}

var errPeer = errors.New("peer")

func (s peerStream) say(what string) error {
	*s.said = append(*s.said, s.name+" "+what)
	if what == s.fail {
		return errPeer
	}
	return nil
}

func (s peerStream) Reaches(from Stream) bool {
	_, ok := from.(peerStream)
	return ok && s.fail != "reach"
}

func (s peerStream) CopyFrom(Stream, Addr, Addr, int64) (bool, error) {
	if s.fail == "way" {
		return false, nil
	}
	return true, s.say("copies")
}

func (s peerStream) NewMark() (Event, error) { return peerEvent{s: s}, s.say("marks") }
func (s peerStream) Record(Event) error      { return s.say("records") }
func (s peerStream) WaitPeer(Event) error    { return s.say("waits") }

type peerEvent struct {
	Event
	s peerStream
}

func (e peerEvent) Close() error { return e.s.say("closes") }

// A copy between devices waits for one of them and makes it wait in turn; what fails ends it,
// and no mark is left.
func TestCopyPeer(t *testing.T) {
	before := []string{"b marks", "b records", "a waits", "b closes"}
	all := append(before[:4:4], "a copies", "a marks", "a records", "b waits", "a closes")
	for _, c := range []struct {
		a, b string // what fails
		done bool
		said []string
	}{
		{done: true, said: all},
		{a: "reach"},
		{a: "way", said: before},
		{b: "marks", done: true, said: before[:1]},
		{b: "records", done: true, said: []string{"b marks", "b records", "b closes"}},
		{a: "waits", done: true, said: before},
		{b: "closes", done: true, said: before},
		{a: "copies", done: true, said: all[:5]},
		{b: "waits", done: true, said: all},
	} {
		var said []string
		a, b := peerStream{name: "a", fail: c.a, said: &said}, peerStream{name: "b", fail: c.b, said: &said}
		done, err := CopyPeer(a, b, 1, 2, 3)
		require.Equal(t, c.done, done, "%+v", c)
		require.Equal(t, c.said, said, "%+v", c)
		if c.done && c.a+c.b != "" {
			require.ErrorIs(t, err, errPeer, "%+v", c)
		} else {
			require.NoError(t, err, "%+v", c)
		}
	}
	var plain struct{ Stream }
	done, err := CopyPeer(plain, plain, 1, 2, 3)
	require.False(t, done)
	require.NoError(t, err)
}
