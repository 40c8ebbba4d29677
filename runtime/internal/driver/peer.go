package driver

// Peer is a Stream whose driver copies from other devices of its kind: see [CopyPeer].
type Peer interface {
	Stream
	// Reaches reports whether the driver may copy from the device of another stream, which
	// is a Peer of the same kind then.
	Reaches(from Stream) bool
	// CopyFrom submits a copy of memory of the device of a stream that the driver reaches. It
	// reports false if there is no peer access between the devices.
	CopyFrom(from Stream, dst, src Addr, size int64) (bool, error)
	// NewMark makes an event of the stream's device that need not take the time.
	NewMark() (Event, error)
	// WaitPeer is Wait for an event of a device that the driver reaches.
	WaitPeer(Event) error
}

// CopyPeer copies memory between two devices of one kind, in the order of both streams: the
// copy waits for the work of from so far, and its later work for the copy. It goes over the
// link between the two where there is one, and else through staging memory of the driver on
// the host. CopyPeer reports false if the driver has neither.
func CopyPeer(to, from Stream, dst, src Addr, size int64) (bool, error) {
	t, ok := to.(Peer)
	if !ok || !t.Reaches(from) {
		return false, nil
	}
	f, ok := from.(Peer)
	if !ok {
		return false, nil
	}
	if err := follow(t, f); err != nil {
		return true, err
	}
	done, err := t.CopyFrom(from, dst, src, size)
	if done && err == nil {
		err = follow(f, t)
	}
	return done, err
}

// follow has later work of a stream wait for the work of another device's so far.
func follow(s, other Peer) error {
	e, err := other.NewMark()
	if err != nil {
		return err
	}
	if err = other.Record(e); err == nil {
		err = s.WaitPeer(e)
	}
	// The driver keeps what it still needs of an event that is destroyed.
	if closed := e.Close(); err == nil {
		err = closed
	}
	return err
}
