//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a directory that somebody else can put files into: what
// is loaded from the cache is run.
func checkOwner(dir string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%w: %s can be written by other users (mode %04o), and what lies there is run; "+
			"run \"chmod go-w %s\" or set KILN_CACHE_DIR", ErrUnusable, dir, mode, dir)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if uid := os.Geteuid(); stat.Uid != 0 && int(stat.Uid) != uid {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as %d, and what lies there is run; "+
			"set KILN_CACHE_DIR to a directory of yours", ErrUnusable, dir, stat.Uid, uid)
	}
	return nil
}

// checkFileOwner refuses a file that anybody can have written: what is in it is run.
func checkFileOwner(name string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o002 != 0 {
		return fmt.Errorf("%w: %s can be written by everybody (mode %04o), and what is in it is run; run \"chmod o-w %s\", or sign it and set KILN_TRUST", ErrUnusable, name, mode, name)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if uid := os.Geteuid(); ok && stat.Uid != 0 && int(stat.Uid) != uid {
		return fmt.Errorf("%w: %s belongs to user %d, this process runs as %d, and what is in it is run; make it root's or your own, or sign it and set KILN_TRUST", ErrUnusable, name, stat.Uid, uid)
	}
	return nil
}
