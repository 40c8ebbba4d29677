package vendorapi

import "github.com/gokiln/kiln/runtime/internal/driver"

// Reaches reports whether the other stream is of the same library, which copies between devices.
func (s *Stream) Reaches(from driver.Stream) bool {
	f, ok := from.(*Stream)
	return ok && f.dev.Lib == s.dev.Lib && s.dev.Lib.CopyPeer != 0
}

// CopyFrom submits a copy from another device, and reports false if there is no peer access.
func (s *Stream) CopyFrom(from driver.Stream, dst, src driver.Addr, size int64) (bool, error) {
	f := from.(*Stream)
	switch r := s.dev.Try(s.dev.Lib.CopyPeer, uintptr(dst), s.dev.current, uintptr(src), f.dev.current, uintptr(size), s.handle); r {
	case Success:
		return true, nil
	case InvalidValue, PeerUnsupported, NotSupported:
		return false, nil
	default:
		return true, s.dev.Lib.Error("copy from "+f.dev.info.Name, s.dev.info.Name, r)
	}
}

// NewMark makes an event of the stream's device that takes no time.
func (s *Stream) NewMark() (driver.Event, error) { return s.dev.NewMark() }

// WaitPeer does without the question whose event it is.
func (s *Stream) WaitPeer(e driver.Event) error {
	return s.dev.Do("wait for another device", s.dev.Lib.StreamWait, s.handle, e.(*Event).handle, 0)
}
