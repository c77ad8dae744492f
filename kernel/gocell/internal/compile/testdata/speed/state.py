IDLE, WORD, NUMBER, SPACE = range(4)

def next_state(s, c):
    if s == IDLE:
        return NUMBER if c < 10 else WORD
    if s == WORD:
        return SPACE if c == 31 else WORD
    if s == NUMBER:
        return SPACE if c >= 10 else NUMBER
    return IDLE

def main():
    counts = [0] * 4
    s, seed = IDLE, 1
    for _ in range(1000000):
        seed = (seed * 1103515245 + 12345) & 0x7fffffff
        s = next_state(s, seed >> 16 & 31)
        counts[s] += 1
    print(*counts, end="")

main()
