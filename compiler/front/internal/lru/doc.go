// Package lru keeps values up to a number of bytes; those not used for longest go first.
package lru
