// Has the library act, and a static object release all, join the thread that waits, or both.
#include <cstring>

extern "C" void act(const char *word);
extern "C" void release_all(const char *who);

struct Holder {
    bool releases = false, joins = false;
    ~Holder()
    {
        if (releases)
            release_all("static");
        if (joins)
            act("joined");
    }
};

static Holder holder;

int main(int argc, char **argv)
{
    for (int number = 1; number < argc; number++) {
        if (std::strcmp(argv[number], "static") == 0)
            holder.releases = true;
        if (std::strcmp(argv[number], "join") == 0)
            holder.joins = true;
        act(argv[number]);
    }
    return 7;
}
