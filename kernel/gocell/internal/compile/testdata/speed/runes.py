def count(text):
    vowels = spaces = others = 0
    for r in text:
        if r in "aeiou":
            vowels += 1
        elif r == " ":
            spaces += 1
        else:
            others += 1
    return vowels, spaces, others

print(*count("the quick brown föx jumps over the lazy dog " * 20000), end="")
