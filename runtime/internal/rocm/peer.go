package rocm

import "github.com/gokiln/kiln/runtime/internal/driver"

// CopyPeer copies from another GPU: over the link between the two where there is one,
// and else by way of memory that the driver has on the host.
func (s *stream) CopyPeer(dst driver.Addr, from driver.Stream, src driver.Addr, size int64) (bool, error) {
	f, ok := from.(*stream)
	if !ok || f.dev.lib != s.dev.lib || s.dev.lib.hipMemcpyPeerAsync == 0 {
		return false, nil
	}
	if err := s.follow(f); err != nil {
		return true, err
	}
	switch r := s.dev.try(s.dev.lib.hipMemcpyPeerAsync, uintptr(dst), s.dev.handle, uintptr(src), f.dev.handle, uintptr(size), s.handle); r {
	case success:
		return true, f.follow(s)
	case invalidValue, peerUnsupported, notSupported:
		return false, nil
	default:
		return true, s.dev.lib.error("copy from "+f.dev.info.Name, s.dev.info.Name, r)
	}
}

// follow has later work of the stream wait for the work of another device's so far.
func (s *stream) follow(f *stream) error {
	e, err := f.dev.newEvent(eventDisableTiming)
	if err != nil {
		return err
	}
	if err = f.Record(e); err == nil {
		err = s.dev.do("wait for another device", s.dev.lib.hipStreamWaitEvent, s.handle, e.handle, 0)
	}
	// The driver keeps what it still needs of an event that is destroyed.
	if closed := e.Close(); err == nil {
		err = closed
	}
	return err
}
