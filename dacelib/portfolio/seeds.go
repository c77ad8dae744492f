package portfolio

import (
	"fmt"

	"dace.local/dacelib/run"
)

// MemberSeeds says which seeds the members of a portfolio have in a repeat.
// Configurations that are equal make the same run under one seed, and are then
// one member and not several; so do the first generations of those whose
// populations are alike.
type MemberSeeds int

const (
	// SeedsByReading: [OwnSeeds] in the reading Written, [SharedSeed] in
	// Published.
	SeedsByReading MemberSeeds = iota
	// OwnSeeds: each member has its own seed.
	OwnSeeds
	// SharedSeed: all members have the same seed, as in the authors' public code.
	SharedSeed
)

// String returns "by reading", "own" or "shared".
func (m MemberSeeds) String() string {
	if m < SeedsByReading || m > SharedSeed {
		return fmt.Sprintf("MemberSeeds(%d)", int(m))
	}
	return [...]string{"by reading", "own", "shared"}[m]
}

// In returns OwnSeeds or SharedSeed: what m means in a reading.
func (m MemberSeeds) In(reading run.Reading) MemberSeeds {
	switch {
	case m != SeedsByReading:
		return m
	case reading == run.Published:
		return SharedSeed
	}
	return OwnSeeds
}

// memberSeed returns the seed of member i in repeat k. The first has that of the
// repeat under either rule.
func memberSeed(s Settings, k, i int) uint64 {
	if s.Reading == run.Published {
		k %= 12
	}
	seed := run.Seed(s.Seed, "portfolio: repeat", k)
	if i > 0 && s.Seeds.In(s.Reading) == OwnSeeds {
		seed = run.Seed(seed, "portfolio: member", i)
	}
	return seed
}
