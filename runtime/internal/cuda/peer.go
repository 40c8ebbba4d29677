package cuda

import "github.com/gokiln/kiln/runtime/internal/driver"

func (s *stream) Reaches(from driver.Stream) bool {
	f, ok := from.(*stream)
	return ok && f.dev.lib == s.dev.lib && s.dev.lib.cuMemcpyPeerAsync != 0
}

func (s *stream) CopyFrom(from driver.Stream, dst, src driver.Addr, size int64) (bool, error) {
	f := from.(*stream)
	switch r := s.dev.try(s.dev.lib.cuMemcpyPeerAsync, uintptr(dst), s.dev.ctx, uintptr(src), f.dev.ctx, uintptr(size), s.handle); r {
	case success:
		return true, nil
	case invalidValue, peerUnsupported, notSupported:
		return false, nil
	default:
		return true, s.dev.lib.error("copy from "+f.dev.info.Name, s.dev.info.Name, r)
	}
}

func (s *stream) NewMark() (driver.Event, error) { return s.dev.NewMark() }

// WaitPeer does without the question whose event it is.
func (s *stream) WaitPeer(e driver.Event) error {
	return s.dev.do("wait for another device", s.dev.lib.cuStreamWaitEvent, s.handle, e.(*event).handle, 0)
}
