# ruff: noqa: E501   (a table reads better with one verb a line)
"""Words of the built-in grammar: who does what to what, where and how.

Each verb lists the subjects and objects it goes with, so that the sentences make sense: mechanics repair engines,
nobody bakes a fence. Verb forms are written out where English is irregular.
"""

from typing import NamedTuple


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


PERSONS: dict[str, tuple[str, ...]] = {
    "kitchen": _list("cook, chef, baker, waiter, grandmother"),
    "craft": _list("mechanic, carpenter, plumber, engineer, builder"),
    "farm": _list("farmer, gardener, shepherd, neighbour"),
    "school": _list("teacher, student, pupil, professor, librarian"),
    "office": _list("manager, secretary, lawyer, clerk, accountant, journalist"),
    "health": _list("doctor, nurse, dentist, surgeon"),
    "art": _list("painter, singer, actor, musician, dancer, photographer"),
    "sea": _list("sailor, captain, diver, pilot"),
    "child": _list("boy, girl, child"),
    "law": _list("judge, detective, officer, guard, witness"),
    "family": _list("mother, father, aunt, uncle, cousin, brother, sister"),
}
ANIMALS = _list("dog, cat, horse, goat, fox, donkey, parrot, monkey")
GENDER = {
    "mother": "she", "aunt": "she", "sister": "she", "grandmother": "she", "girl": "she",
    "father": "he", "uncle": "he", "brother": "he", "boy": "he",
}  # fmt: skip
NAMES = {"she": _list("Anna, Maria, Ruth, Clara, Sophie"), "he": _list("Peter, Daniel, Oscar, Victor, Hugo")}

THINGS: dict[str, tuple[str, ...]] = {
    "machine": _list("bicycle, engine, radio, clock, printer, camera, lamp"),
    "furniture": _list("table, chair, cupboard, desk, bench, shelf"),
    "part": _list("roof, fence, gate, wall, door, window, bridge"),
    "food": _list("cake, pie, soup, sandwich, apple, pear, egg, salad"),
    "paper": _list("book, letter, report, contract, poem, essay, article"),
    "container": _list("box, bag, basket, bottle, bucket, suitcase, parcel"),
    "clothes": _list("coat, shirt, scarf, hat, jacket, dress"),
    "plant": _list("rose, tree, bush, tulip, tomato, vine"),
    "work": _list("picture, song, film, portrait, story, melody"),
    "thought": _list("plan, rule, problem, answer, question, mistake, idea"),
    "small": _list("ring, key, coin, ticket, photograph, purse, umbrella"),
}

ADJECTIVES: dict[str, tuple[str, ...]] = {
    "person": _list("young, old, tall, kind, tired, patient, clever, famous, honest, nervous, friendly"),
    "animal": _list("young, old, hungry, brown, black, clever, thin, lazy"),
    "machine": _list("old, new, broken, expensive, heavy, useful, ugly"),
    "furniture": _list("wooden, old, small, heavy, round, elegant, empty"),
    "part": _list("wooden, narrow, white, high, old, broken, iron"),
    "food": _list("fresh, hot, cold, small, delicious, enormous"),
    "paper": _list("long, short, old, important, interesting, unusual, boring"),
    "container": _list("small, large, heavy, empty, leather, enormous, yellow"),
    "clothes": _list("warm, blue, green, old, dirty, elegant, expensive"),
    "plant": _list("tall, small, wild, young, dry, ugly"),
    "work": _list("beautiful, sad, short, old, famous, strange, unusual"),
    "thought": _list("simple, new, difficult, good, serious, important, clever"),
    "small": _list("small, old, golden, lost, precious, unusual"),
}

# What can follow a noun of the class: prepositional phrases that belong to the noun.
NOUN_PHRASES: dict[str, tuple[str, ...]] = {
    "person": _list(
        "from the village, with the red scarf, in the blue coat, with a long beard, from the north,"
        " with the two dogs, at the next table, on the third floor, in the front row"
    ),
    "animal": _list("with the white tail, from the farm, with a short leg, of the old farmer"),
    "machine": _list("from the shop, in the corner, of the old captain, with the black handle"),
    "furniture": _list("in the hall, near the window, from the office, with the broken leg"),
    "part": _list("of the old house, of the station, behind the barn, between the two gardens, of the school"),
    "food": _list("on the table, from the market, for the guests, with the nuts, on the blue plate"),
    "paper": _list("about the river, from the bank, on the desk, about the new bridge, for the new owner"),
    "container": _list("on the shelf, under the bed, with the golden letters, from the attic, behind the door"),
    "clothes": _list("with the shiny buttons, from the market, in the cupboard, of the captain"),
    "plant": _list("near the gate, in the pot, beside the well, behind the house"),
    "work": _list("by an unknown artist, for the festival, from the exhibition"),
    "thought": _list("from the last meeting, from the last lesson"),
    "small": _list("from the drawer, of the old lady, under the carpet, in the glass case"),
}

COMPOUNDS: dict[str, tuple[str, ...]] = {
    "table": _list("kitchen, garden"), "chair": _list("office, garden"), "door": _list("kitchen, cellar, church"),
    "window": _list("kitchen, shop"), "gate": _list("garden, factory"), "cake": _list("chocolate, birthday"),
    "pie": _list("apple, cherry"), "soup": _list("onion, fish"), "book": _list("history, school, picture"),
    "letter": _list("love, business"), "report": _list("police, weather"), "bag": _list("school, shopping"),
    "box": _list("metal, tool"), "bottle": _list("wine, water"), "shirt": _list("silk, cotton"),
    "scarf": _list("wool, silk"), "clock": _list("kitchen, station"), "lamp": _list("street, oil"),
    "engine": _list("car, boat"), "key": _list("house, car"), "ring": _list("wedding, diamond"),
    "ticket": _list("train, theatre"), "song": _list("folk, love"), "plan": _list("travel, city"),
    "teacher": _list("music, art"), "student": _list("law, history"), "captain": _list("ship, team"),
    "guard": _list("prison, night"), "dog": _list("police, farm"), "officer": _list("police, customs"),
    "roof": _list("barn, church"), "fence": _list("garden, wire"), "tree": _list("cherry, lemon"),
}  # fmt: skip

IRREGULAR_PLURALS = {
    "child": "children", "scarf": "scarves", "shelf": "shelves", "tomato": "tomatoes", "box": "boxes", "dress": "dresses",
    "witness": "witnesses", "bush": "bushes", "bench": "benches", "fox": "foxes", "sandwich": "sandwiches",
    "speech": "speeches", "story": "stories", "melody": "melodies", "secretary": "secretaries",
}  # fmt: skip

# Written with a vowel but spoken without one, and the other way round.
CONSONANT_SOUND = ("uniform", "univer", "union", "unit", "use", "usu", "eu", "one")
VOWEL_SOUND = ("hour", "honest", "heir")


class Verb(NamedTuple):
    """The forms of a verb: carry, carries, carried, carried, carrying."""

    base: str
    present: str
    past: str
    participle: str
    ing: str


def _regular(base: str) -> Verb:
    if base.endswith("y") and base[-2] not in "aeiou":
        return Verb(base, base[:-1] + "ies", base[:-1] + "ied", base[:-1] + "ied", base + "ing")
    present = base + ("es" if base.endswith(("s", "sh", "ch", "x")) else "s")
    stem = base[:-1] if base.endswith("e") else base
    return Verb(base, present, stem + "ed", stem + "ed", stem + "ing")


_WRITTEN_OUT = """
write writes wrote written writing | buy buys bought bought buying | sell sells sold sold selling
find finds found found finding | lose loses lost lost losing | hide hides hid hidden hiding
steal steals stole stolen stealing | eat eats ate eaten eating | cut cuts cut cut cutting
build builds built built building | break breaks broke broken breaking | throw throws threw thrown throwing
catch catches caught caught catching | read reads read read reading | forget forgets forgot forgotten forgetting
sing sings sang sung singing | meet meets met met meeting | teach teaches taught taught teaching
drop drops dropped dropped dropping | wrap wraps wrapped wrapped wrapping | bring brings brought brought bringing
give gives gave given giving | show shows showed shown showing | send sends sent sent sending
lend lends lent lent lending | tell tells told told telling | sleep sleeps slept slept sleeping
fall falls fell fallen falling | run runs ran run running | swim swims swam swum swimming
sit sits sat sat sitting | stand stands stood stood standing | plan plans planned planned planning
begin begins began begun beginning | say says said said saying | think thinks thought thought thinking
know knows knew known knowing | feel feels felt felt feeling | take takes took taken taking
put puts put put putting | travel travels travelled travelled travelling | bite bites bit bitten biting | draw draws drew drawn drawing | choose chooses chose chosen choosing
"""
IRREGULAR_VERBS = {
    forms.split()[0]: Verb(*forms.split()) for line in _WRITTEN_OUT.strip().split("\n") for forms in line.split(" | ")
}


def verb_forms(base: str) -> Verb:
    """All forms of a verb; regular unless listed."""
    return IRREGULAR_VERBS.get(base) or _regular(base)


class Frame(NamedTuple):
    """A transitive verb with what fits around it."""

    verb: str
    subjects: tuple[str, ...]  # keys of PERSONS, or "animal", or "anyone"
    objects: tuple[str, ...]  # nouns, keys of THINGS, or "person" / "animal"
    phrases: tuple[str, ...]  # prepositional phrases that belong to the verb
    adverbs: tuple[str, ...]


_FRAMES = """
repair | craft, farm | machine, roof, fence, gate, bridge | in the workshop, with a hammer, behind the garage | carefully, quickly
paint | art, farm | fence, door, wall, portrait, gate, bench | with a wide brush, in the garden, for the school | slowly, carefully
clean | anyone | furniture, window, bicycle, coat, lamp | with a sponge, in the yard, before the party | quickly, thoroughly
carry | anyone | container, chair, bench, ladder, lamp | into the kitchen, through the tunnel, up the stairs, across the yard | slowly, carefully, silently
read | school, office, family, child | paper | in the library, on the train, by the fire, without glasses | quietly, slowly, aloud
write | school, office, art | letter, report, poem, essay, article, song | at the desk, on the train, with a pencil | quickly, alone
open | anyone | door, window, container, letter, gate | with a small key, at noon, without a word | slowly, suddenly, quietly
close | anyone | door, window, gate, suitcase, book, box | after the lesson, with both hands, in the evening | quietly, slowly
buy | anyone | food, clothes, bicycle, camera, lamp, ring, ticket | at the market, in the city, for the party, from a stranger | secretly, often
sell | farm, craft, office, family | bicycle, table, ring, camera, horse, picture, clock | at the market, to a stranger, for a good price | reluctantly, quickly
find | anyone | small, paper, coat, bag | under the bridge, behind the sofa, on the beach, in the attic | finally, accidentally
lose | anyone | small, coat, bag, hat, map | in the crowd, on the bus, during the storm | nearly, often
hide | anyone | small, letter, cake, box, parcel, map | under the bed, behind the curtain, in the cellar | quickly, secretly
steal | thief, monkey, stranger, waiter | small, camera, picture, cake, bicycle | from the museum, during the night, at the station | quietly, cleverly
bake | kitchen, family | cake, pie | for the wedding, in the old oven, before sunrise | happily, often
prepare | kitchen, family | soup, salad, sandwich, cake, fish | in the kitchen, for the guests, with great care | quickly, happily
eat | child, family, animal, sea | food | in the garden, under the tree, before the concert | slowly, greedily, noisily
wash | anyone | clothes, window, bottle, bicycle | in the river, with cold water, after lunch | thoroughly, quickly
plant | farm, child | plant | near the well, behind the house, in the spring | carefully, eagerly
water | farm, child, family | plant | in the evening, after the long walk | regularly, generously
build | craft, farm | bridge, wall, shelf, house, boat, bench | near the river, for the village, without any help | slowly, patiently
design | craft, art | bridge, lamp, dress, garden, chair | for the exhibition, at the university | cleverly
move | craft, office, family | furniture, box, suitcase, bicycle | into the hall, across the room, after the lunch | slowly, noisily
break | child, cat, waiter, dog | window, bottle, lamp, chair, camera | with a stone, during the game, in the kitchen | accidentally, nearly
throw | child, sea, guard | bottle, ball, stone, key, coat | into the water, over the fence, through the window | angrily, quickly
catch | child, law, sea | ball, fish, thief, parrot, monkey | near the harbour, with a net, behind the church | easily, finally
watch | anyone | film, parrot, fox, dancer, horse, child | from the balcony, through the fence, with great interest | silently, often
visit | anyone | museum, village, aunt, school, island, castle | in the summer, on Sundays, with a friend | regularly, secretly
describe | law, art, school | picture, house, thief, plan, dress, castle | to the reporter, in the letter, with many details | precisely, briefly
explain | school, office, health | thought, map, contract | to the visitors, at the meeting, with an example | patiently, clearly, briefly
sign | office, health, sea | contract, letter, report | on Monday, at the bank, without a word | reluctantly, quickly
study | school, health, office | map, report, contract, picture | in the library, at night, for the exam | carefully, eagerly
check | office, school, law | ticket, report, answer, contract, lock | at the entrance, before the flight, with the manager | twice, quickly, carefully
examine | health, law | patient, horse, letter, bottle, photograph | in the hospital, after the accident, under a strong light | carefully, briefly
thank | anyone | person | for the flowers, after the show, in a long speech | warmly, politely
greet | anyone | person | at the door, with a smile, in the street | warmly, politely
praise | school, office, art | student, dancer, cook, pupil, actor | after the concert, for the work, in a short speech | warmly, loudly
help | anyone | person | in the garden, after the storm, with the luggage | gladly, often
warn | law, farm, health, sea | person | about the storm, before the trip, in time | repeatedly, loudly
invite | office, family, art | person | to the wedding, for dinner, to the concert | politely, personally
follow | law, child, animal | fox, thief, dog, stranger, cat | through the forest, across the bridge, into the tunnel | silently, slowly
chase | animal, child | fox, cat, parrot, goat, thief | around the pond, through the market, into the barn | noisily, playfully
bite | dog, monkey, parrot, horse | guard, thief, farmer, shepherd, cat | in the leg, during the walk | suddenly, nearly
sing | art, child | song, melody | on the stage, at the festival, after dinner | softly, beautifully
play | art, child | melody, song, game | on the violin, for the guests, in the park | loudly, beautifully
drop | anyone | bottle, key, box, coin, egg, bag | on the floor, into the well, during the dance | accidentally, nearly
borrow | anyone | umbrella, book, bicycle, ladder, coat, map | from a friend, for the weekend, for the journey | often, secretly
wrap | family, office, kitchen | parcel, sandwich, bottle, picture | in brown paper, before the feast | carefully, neatly
photograph | art, school, law | bridge, castle, rose, parrot, dancer | from the tower, at sunset, with a small camera | secretly, often
discuss | office, school, law | plan, problem, rule, film, idea, report | over lunch, on the phone, during the break | calmly, openly
solve | school, craft, law | problem, riddle, case | with a simple trick, in the end, within an hour | finally, quickly
reject | office, law, school | plan, idea, article, contract | at the meeting, without a reason | firmly, politely
"""
FRAMES = tuple(
    Frame(verb, *(_list(part) for part in parts))
    for verb, *parts in ([cell.strip() for cell in line.split("|")] for line in _FRAMES.strip().split("\n"))
)

# Nouns that only some frames name, with the class whose adjectives and phrases they take.
EXTRA_NOUNS = {
    "ladder": "furniture", "house": "place", "boat": "vehicle", "map": "paper", "ball": "small", "stone": "small", "fish": "food",
    "thief": "person", "museum": "place", "village": "place", "island": "place", "castle": "place", "garden": "place",
    "lock": "part", "patient": "person", "game": "thought", "riddle": "thought",
    "case": "thought", "stranger": "person", "school": "place",
}  # fmt: skip
ADJECTIVES["vehicle"] = _list("old, new, small, white, fast")
NOUN_PHRASES["vehicle"] = _list("of the old captain, in the harbour, from the island")
ADJECTIVES["place"] = _list("old, quiet, beautiful, ancient, distant, tiny")
NOUN_PHRASES["place"] = _list("near the lake, in the north, across the river, behind the hills")
IRREGULAR_PLURALS |= {"thief": "thieves", "fish": "fish"}

INTRANSITIVE = """
wait | anyone | at the station, in the rain, near the gate, outside the office | patiently, silently
laugh | anyone | at the joke, in the corridor, during the speech | loudly, suddenly
arrive | anyone | at the hotel, in the evening, with a large suitcase, after the storm | finally, early, late
sleep | animal, child, sea, farm | under the tree, in the barn, on the sofa | badly, peacefully
fall | child, animal, art | into the pond, from the ladder, on the ice | suddenly, badly
run | child, animal, law | across the field, through the park, along the wall, down the hill | quickly, away
work | craft, office, health | in the factory, at night, for the city, in a small team | hard, alone
rest | animal, sea, farm | in the shade, after the race, beside the road | quietly, briefly
smile | anyone | at the camera, behind the counter, during the interview | nervously, politely
swim | child, sea, animal | in the lake, to the island, under the bridge | slowly, fast
dance | art, family, child | at the wedding, in the square, around the fire | wildly, happily
talk | anyone | about the weather, with the neighbours, on the phone | quietly, constantly
live | farm, art, family | in a small village, near the harbour, above the bakery | quietly, alone
sit | anyone | on the bench, beside the driver, at the window, under the umbrella | quietly, alone
stand | anyone | on the balcony, behind the counter, near the exit | motionless, silently
travel | sea, office, family, art | to the coast, by train, through the desert, with two friends | constantly, alone
complain | anyone | about the noise, to the manager, in a letter | loudly, constantly
"""
INTRANSITIVES = tuple(
    Frame(
        cells[0],
        _list(cells[1]),
        (),
        _list(cells[2]),
        tuple(a for a in _list(cells[3]) if a not in ("motionless", "away")),
    )
    for cells in ([cell.strip() for cell in line.split("|")] for line in INTRANSITIVE.strip().split("\n"))
)

# verb: what is given, and the preposition of the other construction.
DITRANSITIVE = {
    "give": _list("ring, key, book, apple, coat, coin, ticket, rose"),
    "show": _list("photograph, map, picture, ring, letter, garden"),
    "send": _list("letter, parcel, contract, photograph, poem"),
    "lend": _list("umbrella, bicycle, camera, book, coat"),
    "offer": _list("sandwich, pear, ticket, chair, apple"),
    "tell": _list("story"),
    "teach": _list("song, melody, rule"),
    "bring": _list("umbrella, soup, letter, basket, chair"),
}
WANT = _list("want, try, hope, decide, promise, refuse, learn, begin, plan")
ASK = _list("ask, allow, advise, persuade, remind, order")
SAY = _list("say, think, know, believe, notice, hear, explain")
IRREGULAR_VERBS["hear"] = Verb("hear", "hears", "heard", "heard", "hearing")
FEELINGS = _list("tired, hungry, proud, nervous, busy, ill, angry, happy, lonely, thirsty")
REASONS = _list("bored, curious, lonely, tired, nervous, worried, impatient, excited, proud")
ROLES = {
    "good": _list("dancer, cook, listener, friend"), "excellent": _list("singer, pianist, swimmer, teacher"),
    "old": _list("friend, colleague, rival"), "honest": _list("person, witness"), "member": _list("of the choir, of the club"),
}  # fmt: skip
PARTICLES = {
    "pick up": _list("coin, key, box, letter, umbrella"), "throw away": _list("bottle, letter, hat, ticket"),
    "turn off": _list("radio, lamp, engine"), "put down": _list("bag, book, suitcase, parcel"),
    "fill in": _list("form, questionnaire"), "take off": _list("coat, hat, jacket, scarf"),
    "write down": _list("answer, rule, question, story"), "bring back": _list("book, umbrella, bicycle, camera"),
}  # fmt: skip
EXTRA_NOUNS |= {"form": "paper", "questionnaire": "paper"}
PLACES = _list(
    "in the garden, at the station, near the harbour, behind the church, in the hall, under the bridge,"
    " beside the fountain, on the roof, opposite the bank, in the old market"
)
TIMES = _list(
    "after the meeting, before lunch, in the morning, during the night, on Friday, after the storm, in winter"
)
SENTENCE_ADVERBS = _list("Fortunately, Unfortunately, Luckily, Surprisingly, Apparently, Clearly")
FREQUENCY = _list("often, usually, rarely, never, always, sometimes")
DEGREE = _list("very, rather, quite, extremely")
UNGRADABLE = _list(
    "wooden, leather, iron, golden, broken, empty, enormous, delicious, lost, precious, new, white, black, brown, blue,"
    " green, yellow, round, tiny, ancient"
)
BEFORE_VERB = _list("nearly, often, finally, secretly, accidentally, suddenly, constantly, regularly, repeatedly")
NEEDS_PHRASE = _list("live, travel, stand, sit, work, run, complain")
TEMPORAL = (
    "after", "before", "during", "at noon", "at night", "at sunset", "on Monday", "on Sundays", "in the evening",
    "in the summer", "in the spring",
)  # fmt: skip
WITH_PASSIVE = _list(
    "carefully, quickly, slowly, secretly, quietly, openly, firmly, finally, nearly, accidentally, thoroughly, suddenly,"
    " briefly, clearly, politely, warmly, often, regularly, repeatedly"
)
POSSESSED = _list("neighbour, doctor, nurse, dentist, lawyer, teacher, gardener, manager")
# Nouns of the prepositional phrases above that can be called old, little, big or new.
DESCRIBABLE = _list(
    "workshop, garage, garden, school, yard, kitchen, library, market, city, museum, station, cellar, attic, sofa, bed,"
    " river, well, house, village, hall, room, hospital, bank, stage, park, tower, forest, bridge, tunnel, barn, pond,"
    " office, field, lake, square, bakery, balcony, counter, fountain, roof, church, harbour, hotel, umbrella, bench,"
    " window, fence, door, table, shelf, desk, scarf, hammer, knife, net, gate, festival, concert, factory, curtain"
)
